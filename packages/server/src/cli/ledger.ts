import type { Command } from 'commander';
import type { OpenDatabase } from '../app/open-database.ts';
import { openLedgerReader } from '../app/open-ledger-reader.ts';
import { makeCheckpoint } from '../ledger/checkpoints.ts';
import { exportLog } from '../ledger/export.ts';
import type { LogName } from '../storage/log-heads.ts';
import type { StoredCheckpoint } from '../storage/tree.ts';
import { RuleViolationError } from '../workspace/rule-violation.ts';
import { JSON_OPTION, LOG_OPTION, parseSeq, WORKSPACE_OPTION } from './arguments.ts';
import { withOutputFile } from './files.ts';
import { examples } from './help.ts';
import { requireExtension } from './kept-checkpoint.ts';
import { addAcceptRestore } from './ledger-accept-restore.ts';
import { addCorrectClock } from './ledger-correct-clock.ts';
import { addVerify } from './ledger-verify.ts';
import type { Session } from './session.ts';
import { formatEntryCount } from './verification-verdict.ts';

/** `ledger export | verify | checkpoint | prove | correct-clock | accept-restore`. */
export function addLedger(program: Command, session: Session): void {
  const group = program.command('ledger').description('Export and verify the logs, sign checkpoints, and prove rows.');
  addExport(group, session);
  addVerify(group, session);
  addCheckpoint(group, session);
  addProve(group, session);
  addCorrectClock(group, session);
  addAcceptRestore(group, session);
}

function addExport(group: Command, session: Session): void {
  group
    .command('export')
    .description('Write a log of a workspace as NDJSON: one row per line (docs/formats.md).')
    .requiredOption(...WORKSPACE_OPTION)
    .addOption(LOG_OPTION())
    .option('--output <file>', 'file to write instead of stdout; it appears when it is complete')
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      examples('ledger export --workspace acme --output acme.ndjson', 'ledger export --workspace acme --log decisions | gzip'),
    )
    .action(async ({ workspace, log, output }: { workspace: string; log: LogName; output?: string }) => {
      const { entries, head } = await session.withWorkspace(workspace, async ({ pool }, tenant) => {
        const totals = { entries: 0, head: null as string | null };
        const pages = exportLog(pool, tenant.id, log);
        const copy = async (write: (lines: string) => Promise<void>) => {
          for await (const page of pages) {
            await write(page.lines);
            totals.entries += page.entries;
            totals.head = page.head;
          }
        };
        await (output === undefined ? copy((lines) => session.write(lines)) : withOutputFile(output, copy));
        return totals;
      });
      if (output !== undefined && session.json) await session.writeResult({ file: output, entries, head_row_hash: head }, '');
      session.say(`exported ${formatEntryCount(entries)}${head === null ? '' : `, head ${head}`}`);
    });
}

function addCheckpoint(group: Command, session: Session): void {
  group
    .command('checkpoint')
    .description('Print a signed checkpoint over all current rows of a log. Keep it where the operator cannot write.')
    .requiredOption(...WORKSPACE_OPTION)
    .addOption(LOG_OPTION())
    .option('--output <file>', 'file to write instead of stdout; replaces an older checkpoint that the new one extends')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('ledger checkpoint --workspace acme --output kept/acme.checkpoint'))
    .action(async ({ workspace, log, output }: { workspace: string; log: LogName; output?: string }) => {
      const { size, root, note, signedAt } = await session.withWorkspace(workspace, async (database, tenant) => {
        const checkpoint = await checkpointOver(database, tenant.id, log);
        if (output !== undefined) await requireExtension(output, database, { tenantId: tenant.id, log, newHead: checkpoint });
        return checkpoint;
      });
      if (output !== undefined) await withOutputFile(output, (write) => write(note));
      const facts = { log, size, root: Buffer.from(root).toString('base64'), signed_at: signedAt };
      if (session.json)
        await session.writeResult({ ...facts, ...(output === undefined ? { checkpoint: note } : { file: output }) }, '');
      else if (output === undefined) await session.write(note);
      session.say(`this checkpoint covers ${formatEntryCount(size)} of the log ${log}`);
    });
}

function addProve(group: Command, session: Session): void {
  group
    .command('prove')
    .description('Print the proof that a row is in a log, with a signed checkpoint (C2SP tlog-proof).')
    .requiredOption(...WORKSPACE_OPTION)
    .requiredOption('--seq <number>', 'number of the row', parseSeq)
    .addOption(LOG_OPTION())
    .option(...JSON_OPTION)
    .addHelpText('after', examples('ledger prove --workspace acme --seq 17 >row-17.tlog-proof'))
    .action(async ({ workspace, seq, log }: { workspace: string; seq: number; log: LogName }) => {
      const proof = await session.withWorkspace(workspace, (database, tenant) => {
        const checkpoints = {
          checkpointOver: (tenantId: string, name: LogName, rows: number) => checkpointOver(database, tenantId, name, rows),
        };
        return openLedgerReader(database, checkpoints).inclusionProof(tenant.id, log, seq);
      });
      if (proof === undefined) throw new RuleViolationError(`the log ${log} of this workspace has no row ${seq}`);
      if (session.json) await session.writeResult({ log, seq, proof }, '');
      else await session.write(proof);
    });
}

const checkpointOver = (database: OpenDatabase, tenantId: string, log: LogName, rows?: number): Promise<StoredCheckpoint> =>
  makeCheckpoint(database.pool, tenantId, database.signer.keys, { log, rows });
