import styles from './series-mark.module.css';

/** The mark of the points without a line. */
export const OTHER_MARK = { path: 'M-1.5-5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5Z', dash: [] };

/** Shape and dashes of each line, so that lines differ by more than color. The shapes are SVG paths around 0,0 in pixels. */
export const SERIES_MARKS: readonly { path: string; dash: readonly number[] }[] = [
  { path: 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z', dash: [] },
  { path: 'M-3.8-3.8h7.6v7.6h-7.6Z', dash: [9, 3] },
  { path: 'M0-5L5 3.8H-5Z', dash: [2, 3] },
  { path: 'M0-5.4L5.4 0L0 5.4L-5.4 0Z', dash: [10, 3, 2, 3] },
  { path: 'M0 5L-5-3.8H5Z', dash: [5, 3] },
];

/** A line segment with its mark, for a legend. `series` is null for points without a line. */
export function SeriesMark({ series }: { series: number | null }) {
  const mark = series === null ? OTHER_MARK : SERIES_MARKS[series]!;
  return (
    <svg className={styles.mark} data-series={series ?? 'other'} viewBox="-15 -7 30 14" width="30" height="14" aria-hidden="true">
      {series !== null && <path d="M-15 0H15" className={styles.line} strokeDasharray={mark.dash.join(' ')} />}
      <path d={mark.path} className={styles.shape} />
    </svg>
  );
}
