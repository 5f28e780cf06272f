import type { AttackName } from './attacks.ts';

/** What came of one attack. */
export interface Row {
  name: AttackName;
  what: string;
  bound: string;
  measured: string;
  refused: number;
  lost: number;
  /** What did not hold; empty where all did. */
  broken: readonly string[];
}

/** The rows as the Markdown table of docs/reliability.md. */
export function table(rows: readonly Row[]): string {
  const head = ['attack', 'what is done', 'bound', 'measured', 'refused', 'lost', ''];
  const lines = rows.map(({ name, what, bound, measured, refused, lost, broken }) => [
    `\`${name}\``,
    what,
    bound,
    measured,
    refused.toLocaleString('en-US'),
    String(lost),
    broken.length === 0 ? 'holds' : '**broken**',
  ]);
  const written = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [written(head), written(head.map(() => '---')), ...lines.map(written)].join('\n');
}
