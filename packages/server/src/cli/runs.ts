import type { Command } from 'commander';
import { runAsOwner } from '../database/pools.ts';
import { type ErasureRequest, eraseRun } from '../retention/erase-run.ts';
import { JSON_OPTION, WORKSPACE_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';

interface EraseOptions {
  workspace: string;
  trace: string;
  rationale: string;
  evenIfHeld?: boolean;
}

/** `runs erase`. */
export function addRuns(program: Command, session: Session): void {
  const group = program.command('runs').description('Erase a run on request.');
  group
    .command('erase')
    .description('Erase the trace, telemetry events, log records and OpenTelemetry exports of a run. This cannot be undone.')
    .requiredOption(...WORKSPACE_OPTION)
    .requiredOption('--trace <trace_id>', 'trace_id of the run, as its sender gave it')
    .requiredOption('--rationale <text>', 'the reason, without personal data; recorded in the audit ledger')
    .option('--even-if-held', 'erase the run even if an evaluation, an incident or an audit entry with a retention date names it')
    .option(...JSON_OPTION)
    .addHelpText('after', examples(`runs erase --workspace acme --trace run-17 --rationale "request 2026-114"`) + NOTE)
    .action(async ({ workspace, trace, rationale, evenIfHeld = false }: EraseOptions) => {
      const request: ErasureRequest = { traceId: trace, rationale, evenIfHeld };
      const erasedRun = await session.withWorkspace(workspace, (database, tenant) =>
        runAsOwner(database, (pool) => eraseRun(pool, tenant.id, request)),
      );
      const { telemetryEvents: telemetry_events, ...counts } = erasedRun;
      await session.writeResult(
        { ...counts, telemetry_events },
        `submissions: ${erasedRun.submissions}\ntelemetry events: ${telemetry_events}\nOpenTelemetry exports: ${erasedRun.exports}`,
      );
      session.say('erased; the entry run.erased in the audit ledger records it');
    });
}

const NOTE = `
The logs keep digests, the trace_id and the sender of the run. Backups keep the documents until you delete them: erase the run again after
a restore. With your own PostgreSQL, this command runs as the role of COUNTERSIGN_MIGRATE_DATABASE_URL if
this variable is set, and otherwise as the role of DATABASE_URL.
`;
