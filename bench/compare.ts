import { keyOf, type newestRows, type PartRow } from './kept-results.ts';
import { formatFigure, markdownTable } from './table.ts';

/**
 * A Markdown table of the rows and their newest kept results. The last column is the current ratio divided by the kept ratio. On a slower
 * machine the limit is slower too, so this value hardly changes. For a row with an absolute limit, such as 1 ms, it does change.
 */
export function comparison(rows: readonly PartRow[], keptRows: ReturnType<typeof newestRows>): string {
  const head = ['part', 'work', 'limit', 'kept', 'rate: now / kept', 'ratio: kept', 'ratio: now', 'ratio: now / kept'];
  const lines = rows.map((row) => {
    const keptRow = keptRows.get(keyOf(row));
    const names = [row.part, row.work, row.limit];
    if (keptRow === undefined) return [...names, 'none', '', '', formatFigure(row.ratio), ''];
    const directionText = row.target?.isLowerBetter === true ? ' (lower is better)' : '';
    return [
      ...names,
      `${keptRow.date.slice(0, 10)} ${keptRow.commit}`,
      formatFigure(row.rate / keptRow.rate),
      formatFigure(keptRow.ratio),
      formatFigure(row.ratio),
      formatFigure(row.ratio / keptRow.ratio) + directionText,
    ];
  });
  return markdownTable(head, lines);
}
