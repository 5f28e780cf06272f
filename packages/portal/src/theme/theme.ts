import {
  Button,
  Checkbox,
  createTheme,
  localStorageColorSchemeManager,
  type MantineColorsTuple,
  Modal,
  Tooltip,
} from '@mantine/core';

/** The accent by shade. What is painted comes from tokens.css; Mantine wants ten shades to know the colour's name. */
const petrol: MantineColorsTuple = [
  '#e1eef0',
  '#c6dfe3',
  '#a9cdd3',
  '#7db4bd',
  '#4f97a3',
  '#2c7b89',
  '#0b5563',
  '#094956',
  '#083f4a',
  '#062f38',
];

/** The one look of all parts. */
export const theme = createTheme({
  colors: { petrol },
  primaryColor: 'petrol',
  primaryShade: { light: 6, dark: 3 },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Button: Button.extend({
      vars: (_theme, { variant = 'filled' }) => ({ root: variant === 'filled' ? { '--button-color': 'var(--on-accent)' } : {} }),
    }),
    Checkbox: Checkbox.extend({ vars: () => ({ root: { '--checkbox-icon-color': 'var(--on-accent)' } }) }),
    // Their own ways to lock the page's scroll and to fade write inline style sheets, which the pages' policy refuses.
    Modal: Modal.extend({
      defaultProps: {
        closeButtonProps: { 'aria-label': 'Close' },
        lockScroll: false,
        centered: true,
        transitionProps: { duration: 120 },
      },
    }),
    Tooltip: Tooltip.extend({
      defaultProps: { openDelay: 250, withArrow: false, events: { hover: true, focus: true, touch: true } },
    }),
  },
});

/** Where the chosen scheme is kept; public/color-scheme.js reads the same name before the first paint. */
export const colorSchemeManager = localStorageColorSchemeManager({ key: 'countersign-color-scheme' });
