import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { entryOf } from '../../src/ledger/append.ts';
import { SERVICE_ACTIONS } from '../../src/ledger/service-actions.ts';

/** The table of actions in docs/formats.md: each action with the members of its metadata. */
function documentedActions(): Record<string, string[]> {
  const page = readFileSync(new URL('../../../../docs/formats.md', import.meta.url), 'utf8');
  const [, table = ''] = /<!-- actions -->\n((?:\|.*\n)+)/.exec(page) ?? [];
  const rows = table.trimEnd().split('\n').slice(2);
  return Object.fromEntries(
    rows.map((row) => {
      const [, action = '', , metadata = ''] = row.split('|').map((cell) => cell.trim());
      return [action.replaceAll('`', ''), metadata === 'null' ? [] : metadata.replaceAll('`', '').split(', ')];
    }),
  );
}

describe('the table of service actions', () => {
  test('matches docs/formats.md in actions and metadata members', () => {
    expect(documentedActions()).toEqual(SERVICE_ACTIONS);
  });

  test('the compiler rejects an unknown action or metadata member', () => {
    const by = { recorded_by: 'operator', actor: 'operator' };
    const entries = [
      // @ts-expect-error not in the table
      entryOf({ ...by, action: 'agent.blessed' }),
      // @ts-expect-error a member that the action does not have
      entryOf({ ...by, action: 'workspace.renamed', metadata: { reason: 'none' } }),
    ];
    expect(entries).toHaveLength(2);
  });
});
