import type { AttackName } from './attacks.ts';

/** The result of one attack. */
export interface Row {
  name: AttackName;
  description: string;
  bound: string;
  measured: string;
  rejected: number;
  lost: number;
  /** Broken bounds and promises; empty when all hold. */
  violations: readonly string[];
}

/** The rows as the Markdown table of docs/reliability.md. */
export function table(rows: readonly Row[]): string {
  const head = ['attack', 'description', 'bound', 'measured', 'rejected', 'lost', ''];
  const lines = rows.map(({ name, description, bound, measured, rejected, lost, violations }) => [
    `\`${name}\``,
    description,
    bound,
    measured,
    rejected.toLocaleString('en-US'),
    String(lost),
    violations.length === 0 ? 'holds' : '**broken**',
  ]);
  return markdownTable(head, lines);
}

/** A Markdown table. */
export function markdownTable(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const lineText = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [lineText(head), lineText(head.map(() => '---')), ...lines.map(lineText)].join('\n');
}
