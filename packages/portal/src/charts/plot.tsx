import { useComputedColorScheme } from '@mantine/core';
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import styles from './plot.module.css';

/** The colors of a chart in the current color scheme. */
export interface Palette {
  faint: string;
  line: string;
  accent: string;
  good: string;
  bad: string;
  warn: string;
  surface: string;
  /** The colors of the lines: SERIES_COLOR_COUNT colors. */
  series: readonly string[];
}

/** The number of line colors: `--series-1` to `--series-5` in tokens.css. */
export const SERIES_COLOR_COUNT = 5;

/**
 * A chart that adapts to the color scheme and the available width. Screen readers read `label`. `table` lists the values of the chart.
 */
export function Plot(props: {
  label: string;
  heightPx: number;
  data: uPlot.AlignedData;
  options: (palette: Palette) => Omit<uPlot.Options, 'width' | 'height'>;
  table: ReactNode;
}) {
  const { label, heightPx, data, options, table } = props;
  const container = useRef<HTMLDivElement>(null);
  const width = useWidth(container);
  const scheme = useComputedColorScheme('light', { getInitialValueInEffect: false });
  const plot = useRef<uPlot | null>(null);
  const isMeasured = width > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a different scheme changes the palette; the effect below handles a new width.
  useEffect(() => {
    if (!isMeasured || container.current === null) return;
    const chart = new uPlot({ ...options(paletteOf(container.current)), width, height: heightPx }, data, container.current);
    plot.current = chart;
    return () => {
      plot.current = null;
      chart.destroy();
    };
  }, [isMeasured, scheme, data, options, heightPx]);
  useEffect(() => {
    if (isMeasured) plot.current?.setSize({ width, height: heightPx });
  }, [width, isMeasured, heightPx]);
  return (
    <figure className={styles.figure}>
      <div ref={container} className={styles.plot} style={{ height: heightPx }} role="img" aria-label={label} />
      <ValueTable>{table}</ValueTable>
    </figure>
  );
}

/** The values of a chart as a table, collapsed by default. */
export const ValueTable = ({ children }: { children: ReactNode }) => (
  <details className={styles.table}>
    <summary>Show as table</summary>
    {children}
  </details>
);

/** The current width of an element in pixels; 0 before it is measured. */
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
  const readColor = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    faint: readColor('ink-faint'),
    line: readColor('line'),
    accent: readColor('accent'),
    good: readColor('good'),
    bad: readColor('bad'),
    warn: readColor('warn'),
    surface: readColor('surface'),
    series: Array.from({ length: SERIES_COLOR_COUNT }, (_each, index) => readColor(`series-${index + 1}`)),
  };
}

/** The font of a chart's axes. */
export const AXIS_FONT = '11px Geist, system-ui, sans-serif';

/** An upper bound of the width of a digit in AXIS_FONT. */
const DIGIT_PX = 7;
const AXIS_WIDTH_PX_MIN = 46;

/** The width of a value axis in pixels: large enough for its longest label. */
export const axisWidth = (labels: readonly string[] | null): number =>
  Math.max(AXIS_WIDTH_PX_MIN, ...(labels ?? []).map((label) => label.length * DIGIT_PX + 8));
