import { keyOf, type newestRows, type PartRow } from './kept-results.ts';
import { figure, markdownTable } from './table.ts';

/**
 * The rows beside their newest kept results, as a Markdown table. The last column is the ratio to the limit now, divided by the kept one.
 * It compares what the product costs beyond its limit, so that a slower hour of the machine cancels out. The column of rates does not.
 */
export function comparison(rows: readonly PartRow[], kept: ReturnType<typeof newestRows>): string {
  const head = ['part', 'work', 'limit', 'kept', 'rate now / kept', 'ratio kept', 'ratio now', 'now / kept'];
  const lines = rows.map((row) => {
    const old = kept.get(keyOf(row));
    const names = [row.part, row.work, row.limit];
    if (old === undefined) return [...names, 'none', '', '', figure(row.ratio), ''];
    const lessIsBetter = row.target?.lessIsBetter === true ? ' (less is better)' : '';
    return [
      ...names,
      `${old.date.slice(0, 10)} ${old.commit}`,
      figure(row.rate / old.rate),
      figure(old.ratio),
      figure(row.ratio),
      figure(row.ratio / old.ratio) + lessIsBetter,
    ];
  });
  return markdownTable(head, lines);
}
