import { type Command, Option } from 'commander';
import type { ChainReport } from '../ledger/chain-report.ts';
import { exportLedger } from '../ledger/export.ts';
import { verifyDatabase } from '../ledger/verify-database.ts';
import { verifyExport } from '../ledger/verify-file.ts';
import { JSON_OPTION, WORKSPACE_OPTION } from './arguments.ts';
import { readingFile, writingFile } from './files.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';
import { shortLine } from './table.ts';

/** `ledger export | verify`. */
export function addLedger(program: Command, session: Session): void {
  const group = program.command('ledger').description('Export the audit ledger and check that its chain is whole.');
  addExport(group, session);
  addVerify(group, session);
}

function addExport(group: Command, session: Session): void {
  group
    .command('export')
    .description('Write the audit ledger as NDJSON: one entry a line, all members of the format and row_hash.')
    .requiredOption(...WORKSPACE_OPTION)
    .option('--output <file>', 'file to write instead of stdout; takes its name when it is complete')
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      examples('ledger export --workspace acme --output acme.ndjson', 'ledger export --workspace acme | gzip'),
    )
    .action(async ({ workspace, output }: { workspace: string; output?: string }) => {
      const made = await session.withWorkspace(workspace, async ({ pool }, tenant) => {
        const count = { entries: 0, head: null as string | null };
        const copy = async (write: (lines: string) => Promise<void>) => {
          for await (const page of exportLedger(pool, tenant.id)) {
            await write(page.lines);
            count.entries += page.entries;
            count.head = page.head;
          }
        };
        await (output === undefined ? copy((lines) => session.write(lines)) : writingFile(output, copy));
        return count;
      });
      if (output !== undefined && session.json)
        await session.answer({ file: output, entries: made.entries, head_row_hash: made.head }, '');
      session.say(`exported ${entries(made.entries)}${made.head === null ? '' : `, head ${made.head}`}`);
    });
}

function addVerify(group: Command, session: Session): void {
  group
    .command('verify')
    .description('Check a chain, in the database or in an export: exit 0 whole, 1 broken; the first bad row is named.')
    .addOption(new Option(...WORKSPACE_OPTION).conflicts('file'))
    .option('--file <file>', 'an export, - for stdin; no database is needed')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('ledger verify --workspace acme', 'ledger verify --file acme.ndjson') + VERIFY_NOTE)
    .action(async ({ workspace, file }: { workspace?: string; file?: string }, command: Command) => {
      if (workspace === undefined && file === undefined) command.error('give --workspace NAME or --file FILE');
      const report =
        file === undefined
          ? await session.withWorkspace(workspace!, ({ pool }, tenant) => verifyDatabase(pool, tenant.id))
          : await readingFile(file, verifyExport);
      // Set first: a reader who has gone away must not turn a broken chain into a good one.
      session.ending = report.firstBad === undefined ? 'ok' : 'broken';
      await session.answer(verdictOf(report), sentenceOf(report));
    });
}

const verdictOf = ({ tenantId, entries, head, firstBad }: ChainReport) =>
  firstBad === undefined
    ? { result: 'ok', tenant_id: tenantId ?? null, entries, head_row_hash: head }
    : { result: 'broken', tenant_id: tenantId ?? null, first_bad: firstBad, entries_whole_before: entries };

function sentenceOf({ entries: count, head, firstBad }: ChainReport): string {
  if (firstBad !== undefined) return `broken at seq ${firstBad.seq}: ${shortLine(firstBad.reason, 600)}`;
  return head === null ? 'whole: 0 entries' : `whole: ${entries(count)}, head ${head}`;
}

const entries = (count: number): string => (count === 1 ? '1 entry' : `${count} entries`);

const VERIFY_NOTE = `
A chain alone does not show that its newest rows are missing from an export, or that all of it was written anew: compare the
head with a row_hash that you kept. In the database the head row tells where the ledger ends.
`;
