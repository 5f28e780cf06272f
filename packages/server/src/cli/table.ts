import { shorten } from '@countersign/core/domain/shorten';

/** One line of safe text: line breaks and control characters become visible, so that stored text cannot control a terminal. */
export const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/\s*[\r\n]\s*/g, ' ⏎ ')
    .replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (char) => {
      return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
    });

/** One line of safe text, cut to at most `max` code points. */
export function shortLine(text: string, max: number): string {
  return shorten(oneLine(text.slice(0, 4 * max)), max);
}

/** A column: its heading, and a function that returns its cell for a row. A cell that is null is shown as `-`. */
export type Column<Row> = readonly [heading: string, cell: (row: Row) => string | null];

/** A table: headings, then one line per row, with columns two spaces apart. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const lines = [columns.map(([heading]) => heading), ...rows.map((row) => columns.map(([, cell]) => oneLine(cell(row) ?? '-')))];
  const widths = columns.map((_, index) => Math.max(...lines.map((cells) => [...cells[index]!].length)));
  const padded = (cell: string, index: number): string => cell + ' '.repeat(widths[index]! - [...cell].length);
  return lines.map((cells) => cells.map(padded).join('  ').trimEnd()).join('\n');
}

/** A time as tables show it: in UTC, cut to seconds. */
export const formatTime = (instant: string | null): string | null =>
  instant === null ? null : instant.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
