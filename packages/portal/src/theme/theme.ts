import { Button, Checkbox, createTheme, localStorageColorSchemeManager, type MantineColorsTuple, Modal } from '@mantine/core';

/** The accent color in the ten shades that Mantine requires. The colors on the page come from tokens.css. */
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

/**
 * When a dialog has closed, Mantine returns the focus within 10 milliseconds to the element that opened the dialog. The other 20
 * milliseconds are a margin.
 */
const FOCUS_RETURNED_MS = 30;

/**
 * After a dialog, focuses the heading of the page if the element that opened the dialog is gone, for example the button of a completed
 * action, or a menu item. Without this, the Tab key would start again at the top of the page.
 */
function focusHeadingIfLost(): void {
  setTimeout(() => {
    if (document.activeElement !== document.body) return;
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
  }, FOCUS_RETURNED_MS);
}

/** The theme of all Mantine components. */
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
    // Mantine's scroll lock uses an inline style sheet, which the content security policy blocks. base.css stops scrolling instead.
    Modal: Modal.extend({
      defaultProps: {
        closeButtonProps: { 'aria-label': 'Close' },
        lockScroll: false,
        centered: true,
        transitionProps: { duration: 120 },
        onExitTransitionEnd: focusHeadingIfLost,
      },
    }),
  },
});

/** Stores the selected color scheme. public/color-scheme.js reads the same key before the first paint. */
export const colorSchemeManager = localStorageColorSchemeManager({ key: 'countersign-color-scheme' });
