import { RETENTION_DAYS_MAX } from '@countersign/core/contract/retention-days';
import { type Command, InvalidArgumentError } from 'commander';
import type { OpenDatabase } from '../app/open-database.ts';
import { runAsOwner } from '../database/pools.ts';
import { ExitError } from '../errors/exit-codes.ts';
import { type DroppedRecords, dropDueRecords } from '../retention/drop-due-records.ts';
import { MayNotDropError } from '../retention/may-not-drop-error.ts';
import { listTenantIds } from '../storage/tenants.ts';
import { RuleViolationError } from '../workspace/rule-violation.ts';
import { readRetention, ShortPeriodError, setRetention } from '../workspace/set-retention.ts';
import { JSON_OPTION, WORKSPACE_OPTION } from './arguments.ts';
import { type Failure, failureOf } from './failure.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';
import { formatTime } from './table.ts';

interface SetOptions {
  workspace: string;
  traces?: number | 'forever';
  telemetry?: number | 'forever';
  confirmShort?: boolean;
}

/** `retention show | set | run`. */
export function addRetention(program: Command, session: Session): void {
  const group = program.command('retention').description('Set how long runs are kept, and drop runs whose period is over.');
  addShow(group, session);
  addSet(group, session);
  addRun(group, session);
}

function addShow(group: Command, session: Session): void {
  group
    .command('show')
    .description(
      'Show for how many days a workspace keeps runs. A period applies to the runs that were received while it was the current period.',
    )
    .requiredOption(...WORKSPACE_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('retention show --workspace acme'))
    .action(async ({ workspace }: { workspace: string }) => {
      const { periods } = await session.withWorkspace(workspace, ({ ledgerPool }, tenant) =>
        readRetention(ledgerPool, tenant.id),
      );
      const rows = periods.map(({ since, traceDays, telemetryDays }) => ({
        since,
        trace_days: traceDays,
        telemetry_days: telemetryDays,
      }));
      await session.list(rows, 'this workspace keeps all runs forever; `retention set` sets a period', [
        ['RECEIVED SINCE', ({ since }) => formatTime(since)],
        ['TRACES', ({ trace_days }) => formatDays(trace_days)],
        ['TELEMETRY', ({ telemetry_days }) => formatDays(telemetry_days)],
      ]);
    });
}

function addSet(group: Command, session: Session): void {
  group
    .command('set')
    .description('Set for how many days the runs received from now on are kept. The period of earlier runs does not change.')
    .requiredOption(...WORKSPACE_OPTION)
    .option('--traces <days>', 'traces, OpenTelemetry exports and log records: a number of days, or `forever`', parseDays)
    .option('--telemetry <days>', 'telemetry events: a number of days, or `forever`', parseDays)
    .option('--confirm-short', 'confirm a period of less than 183 days')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('retention set --workspace acme --traces 365 --telemetry 90 --confirm-short') + NOTE)
    .action(async ({ workspace, traces, telemetry, confirmShort = false }: SetOptions, command: Command) => {
      if (traces === undefined && telemetry === undefined) command.error('nothing to set: give --traces, --telemetry, or both');
      const change = { traceDays: daysOf(traces), telemetryDays: daysOf(telemetry), isShortConfirmed: confirmShort };
      const [isChanged, current] = await session.withWorkspace(workspace, async ({ pool, ledgerPool }, tenant) => [
        await setRetention(pool, tenant.id, change, 'operator').catch(rethrowWithOption),
        (await readRetention(ledgerPool, tenant.id)).current,
      ]);
      const { traceDays: trace_days, telemetryDays: telemetry_days } = current;
      await session.writeResult(
        { changed: isChanged, trace_days, telemetry_days },
        `traces: ${formatDays(trace_days)}\ntelemetry: ${formatDays(telemetry_days)}`,
      );
      session.say(
        isChanged
          ? 'the periods apply to the runs received from now on'
          : 'the workspace has these periods already; nothing was changed',
      );
    });
}

function addRun(group: Command, session: Session): void {
  group
    .command('run')
    .description(
      'Drop expired runs. A server does this daily if its database role, or the role of COUNTERSIGN_MIGRATE_DATABASE_URL, may delete runs.',
    )
    .option('--workspace <name>', 'ID of one workspace, or its name if it is unique (default: all workspaces)')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('retention run', 'retention run --workspace acme') + OWNER_NOTE)
    .action(async ({ workspace }: { workspace?: string }) => {
      const { dropped: rows, failures } = await (workspace === undefined
        ? session.withDatabase(async (database) => dropInWorkspaces(database, await listTenantIds(database.pool)))
        : session.withWorkspace(workspace, (database, tenant) => dropInWorkspaces(database, [tenant.id])));
      if (rows.length === 0 && failures.length > 0) throw retentionError(failures);
      await session.list(rows, 'no workspaces yet', [
        ['WORKSPACE', (row) => row.workspace],
        ['TRACES', ({ traces }) => String(traces)],
        ['TELEMETRY', ({ telemetry }) => String(telemetry)],
        ['EXPORTS', ({ exports }) => String(exports)],
        ['KEPT', ({ held }) => String(held)],
      ]);
      for (const { workspace: id, unreadable } of rows) {
        for (const segment of unreadable)
          session.say(
            `the stored documents in segment ${segment} of workspace ${id} were changed or deleted outside the server, so retention skipped this ` +
              `segment; run \`ledger verify --workspace ${id} --log traces\``,
          );
      }
      if (failures.length > 0) throw retentionError(failures);
    });
}

/** The result of `retention run`: what was dropped in each workspace, and why some workspaces failed. */
interface RetentionResult {
  dropped: (DroppedRecords & { workspace: string })[];
  failures: (Failure & { workspace: string })[];
}

/**
 * Drops the due records of these workspaces, as the role that owns the tables. A failure in one workspace does not stop the others. Only
 * two failures end the command, because they concern all workspaces: the role may not drop records, or the database is unavailable.
 */
const dropInWorkspaces = (database: OpenDatabase, ids: readonly string[]): Promise<RetentionResult> =>
  runAsOwner(database, async (pool) => {
    const result: RetentionResult = { dropped: [], failures: [] };
    for (const workspace of ids) {
      try {
        result.dropped.push({ workspace, ...(await dropDueRecords(pool, workspace)) });
      } catch (error) {
        const failure = failureOf(error);
        result.failures.push({ workspace, ...failure });
        if (error instanceof MayNotDropError || failure.reason === 'database_away') break;
      }
    }
    return result;
  });

/** The error of a `retention run` that failed in these workspaces. The first failure determines its exit code. */
const retentionError = (failures: RetentionResult['failures']): ExitError =>
  new ExitError(failures[0]!.reason, failures.map(({ workspace, message }) => `workspace ${workspace}: ${message}`).join('; '));

/** Rethrows an error. The message about a short period also names the option that confirms it. */
const rethrowWithOption = (error: unknown): never => {
  if (!(error instanceof ShortPeriodError)) throw error;
  throw new RuleViolationError(`${error.message}; if these articles do not apply to you, add --confirm-short`);
};

const formatDays = (days: number | null): string => {
  if (days === null) return 'forever';
  return days === 1 ? '1 day' : `${days} days`;
};

const daysOf = (value: number | 'forever' | undefined): number | null | undefined => (value === 'forever' ? null : value);

function parseDays(text: string): number | 'forever' {
  if (text === 'forever') return text;
  if (!/^[1-9]\d*$/.test(text) || Number(text) > RETENTION_DAYS_MAX)
    throw new InvalidArgumentError(`Give a whole number of days from 1 to ${RETENTION_DAYS_MAX}, or forever.`);
  return Number(text);
}

const OWNER_NOTE = `
With your own PostgreSQL, this command runs as the role of COUNTERSIGN_MIGRATE_DATABASE_URL if this variable is set, and otherwise
as the role of DATABASE_URL. The role must own the tables.
`;

const NOTE = `
A run is kept while one of these names it: an evaluation, an audit entry \`incident.created\` from a sender, or an audit entry whose
retention date has not passed. The log \`traces\` keeps the digests of dropped traces. For telemetry, the audit ledger keeps only the
counts. See docs/operating.md, "Retention and erasure".
`;
