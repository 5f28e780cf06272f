import { type Row, targetStatus } from './rounds.ts';

/** The rows as a Markdown table, for docs/performance.md. */
export function table(rows: readonly Row[]): string {
  const head = ['work', 'rate', 'limit', "limit's rate", 'ratio', 'required', 'stretch target', ''];
  const lines = rows.map((row) => {
    const { work, limit, unit, rate, limitRate, ratio, target } = row;
    const targetText = (value?: number) => (value === undefined ? '' : `${target?.isLowerBetter === true ? '≤ ' : ''}${value}`);
    return [
      work,
      `${formatFigure(rate)} ${unit}`,
      limit,
      formatFigure(limitRate),
      formatFigure(ratio),
      targetText(target?.required),
      targetText(target?.stretch),
      targetStatus(row),
    ];
  });
  return markdownTable(head, lines);
}

/** A Markdown table with aligned columns. */
export function markdownTable(head: readonly string[], lines: readonly string[][]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((line) => line[column]!.length)));
  const lineText = (line: readonly string[]) => `| ${line.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [lineText(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...lines.map(lineText)].join('\n');
}

/** The value with three significant digits, or as a whole number from 1000 on. */
export const formatFigure = (value: number): string =>
  value >= 1000 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
