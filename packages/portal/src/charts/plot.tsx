import { useComputedColorScheme } from '@mantine/core';
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import styles from './plot.module.css';

/** The colours of a chart, as the scheme of the page has them now. */
export interface Palette {
  ink: string;
  faint: string;
  line: string;
  accent: string;
  good: string;
  bad: string;
  warn: string;
  surface: string;
  /** A colour for each line of a chart with several. */
  series: readonly string[];
}

/** Most lines of a chart that have a colour of their own: `--series-1` to `--series-5` of tokens.css. */
export const SERIES_COLOURS = 5;

/**
 * A chart that follows the colour scheme and the width it has. It is a picture to screen readers, named by `label`; `table` holds
 * the same figures, for whoever cannot or does not want to read the picture.
 */
export function Plot(props: {
  label: string;
  height: number;
  data: uPlot.AlignedData;
  options: (palette: Palette) => Omit<uPlot.Options, 'width' | 'height'>;
  table: ReactNode;
}) {
  const { label, height, data, options, table } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const scheme = useComputedColorScheme('light', { getInitialValueInEffect: false });
  const plot = useRef<uPlot | null>(null);
  const measured = width > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another scheme is another palette; the width is followed below.
  useEffect(() => {
    if (!measured || box.current === null) return;
    const made = new uPlot({ ...options(paletteOf(box.current)), width, height }, data, box.current);
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
  }, [measured, scheme, data, options, height]);
  useEffect(() => {
    if (measured) plot.current?.setSize({ width, height });
  }, [width, measured, height]);
  return (
    <figure className={styles.figure}>
      <div ref={box} className={styles.plot} style={{ height }} role="img" aria-label={label} />
      <FigureTable>{table}</FigureTable>
    </figure>
  );
}

/** The figures of a chart as a table, closed at first. */
export const FigureTable = ({ children }: { children: ReactNode }) => (
  <details className={styles.table}>
    <summary>As a table</summary>
    {children}
  </details>
);

/** The width that an element has now, in pixels; 0 before it is measured. */
function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}

function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const read = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: read('ink'),
    faint: read('ink-faint'),
    line: read('line'),
    accent: read('accent'),
    good: read('good'),
    bad: read('bad'),
    warn: read('warn'),
    surface: read('surface'),
    series: Array.from({ length: SERIES_COLOURS }, (_each, index) => read(`series-${index + 1}`)),
  };
}

/** The font of a chart's axes. */
export const AXIS_FONT = '11px Geist, system-ui, sans-serif';

/** More than the widest figure of that font takes. */
const FIGURE_PX = 7;
const AXIS_PX_MIN = 46;

/** The room that an axis's labels take, in pixels: what is longer than usual widens it. */
export const axisRoom = (labels: readonly string[] | null): number =>
  Math.max(AXIS_PX_MIN, ...(labels ?? []).map((label) => label.length * FIGURE_PX + 8));
