import type { ChainReport, Contradiction, DroppedTraces } from '@countersign/core/domain/chain-report';
import { DecisionReplay, NotEvidenceError } from '@countersign/core/domain/decision-replay';
import { type ExportExpectation, verifyExport } from '@countersign/core/domain/export-verifier';
import { type Command, Option } from 'commander';
import { digests, sha256 } from '../crypto/digests.ts';
import { describeFinding, schemaFindings } from '../database/schema-findings.ts';
import { verifyKnownLog } from '../ledger/verify-log.ts';
import { noteKeysOf } from '../secrets/instance-signer.ts';
import { LOG_NAMES, type LogName } from '../storage/log-heads.ts';
import { readSchemaFacts } from '../storage/schema-facts.ts';
import { listSigningKeys } from '../storage/signing-keys.ts';
import { InvalidInputError } from '../workspace/wrong-input.ts';
import { JSON_OPTION, parseUuid, WORKSPACE_OPTION } from './arguments.ts';
import { withInputFile } from './files.ts';
import { limitHeapGrowth } from './heap-growth.ts';
import { examples } from './help.ts';
import { type Progress, progressOn } from './progress.ts';
import type { Session } from './session.ts';
import { shortLine } from './table.ts';
import { expectedTenant, keptHeads, keysGiven, repeatable, type VerificationOptions } from './verification-options.ts';

/** The largest number of schema differences in the text output. The JSON output has all of them. */
const SCHEMA_FINDINGS_MAX = 20;

interface VerifyOptions extends VerificationOptions {
  workspace?: string;
  file?: string;
  log: LogName | 'all';
  audit?: string;
  replay?: string;
  tenant?: string;
  progress?: boolean;
}

/** `ledger verify`. */
export function addVerify(group: Command, session: Session): void {
  group
    .command('verify')
    .description('Verify a log in the database or in an export. Exit 0: valid. Exit 1: not valid, with the first fault.')
    .addOption(new Option(...WORKSPACE_OPTION).conflicts('file'))
    .option('--file <file>', 'verify an export without a database; - is stdin')
    .addOption(
      new Option('--log <log>', 'which log; "all" verifies every log of --workspace')
        .choices([...LOG_NAMES, 'all'])
        .default('audit'),
    )
    .addOption(
      new Option(
        '--audit <file>',
        'with --file of a log other than audit: the export of the audit ledger, which contains the clock corrections and accepted restores',
      ).conflicts('workspace'),
    )
    .addOption(
      new Option(
        '--replay <file>',
        'with --file of decisions: the export of the evidence log, from which every decision is computed again',
      ).conflicts('workspace'),
    )
    .addOption(
      new Option('--tenant <id>', 'with --file: the ID of the workspace that the log must belong to')
        .argParser(parseUuid)
        .conflicts('workspace'),
    )
    .option('--checkpoint <file>', 'a checkpoint that you kept; can be repeated', repeatable)
    .option('--head <header>', 'a Countersign-Checkpoint header that you kept; can be repeated', repeatable)
    .option(
      '--key <key>',
      'the public key: a verifier key, or a file with verifier keys, a JWKS or a trust file; with a trust file, the log must belong to its workspace; can be repeated',
      repeatable,
    )
    .option('--progress', 'show progress on stderr even if it is not a terminal; ignored with --json')
    .option(...JSON_OPTION)
    .addHelpText('after', examples(...EXAMPLES) + VERIFY_NOTE)
    .action(async (options: VerifyOptions, command: Command) => {
      if (options.workspace === undefined && options.file === undefined) command.error('give --workspace NAME or --file FILE');
      const { log } = options;
      if (options.replay !== undefined && log !== 'decisions') command.error('--replay works only with --log decisions');
      if (log === 'all' && (options.file !== undefined || options.checkpoint !== undefined || options.head !== undefined))
        command.error(
          '--log all needs --workspace, and does not work with --file, --checkpoint or --head: each of these belongs to one log',
        );
      limitHeapGrowth();
      if (log === 'all') return verifyAll(session, options);
      const progress = progressOn(session, options.progress === true);
      const report = await reportOn(session, { ...options, log }, progress).finally(progress.done);
      // An export of another log is a usage error. It is not reported as a broken log.
      if (report.firstBad?.misfit === true) throw new InvalidInputError(report.firstBad.reason);
      // The exit status is set before the output, so that it is right even if the reader of the output closes the stream.
      session.ending = isValid(report) ? 'ok' : 'broken';
      const keptCount = (options.checkpoint ?? []).length + (options.head ?? []).length;
      const areTimesChecked = options.file === undefined || options.log === 'audit' || options.audit !== undefined;
      const schema = await schemaOf(session, options);
      await session.writeResult(
        { ...verdictOf(report, keptCount, areTimesChecked), ...schema.facts },
        sentenceOf(report, keptCount, areTimesChecked) + schema.text,
      );
    });
}

/** Verifies every log of a workspace, one after the other. */
async function verifyAll(session: Session, options: VerifyOptions): Promise<void> {
  const reports: [LogName, ChainReport][] = [];
  for (const log of LOG_NAMES) {
    const progress = progressOn(session, options.progress === true);
    reports.push([log, await reportOn(session, { ...options, log }, progress).finally(progress.done)]);
  }
  const areValid = reports.every(([, report]) => isValid(report));
  session.ending = areValid ? 'ok' : 'broken';
  const verdicts = Object.fromEntries(reports.map(([log, report]) => [log, verdictOf(report, 0, true)]));
  const sentences = reports.map(([log, report]) => `${log}: ${sentenceOf(report, 0, true)}`);
  const schema = await schemaOf(session, options);
  await session.writeResult(
    { result: areValid ? 'ok' : 'broken', logs: verdicts, ...schema.facts },
    sentences.join('\n') + schema.text,
  );
}

/** Where the schema of a workspace's database differs from the migrations. Only a warning, because the rows can be valid anyway. */
async function schemaOf(session: Session, { workspace }: VerifyOptions): Promise<{ facts: object; text: string }> {
  if (workspace === undefined) return { facts: {}, text: '' };
  const findings = schemaFindings(await session.withWorkspace(workspace, ({ ledgerPool }) => readSchemaFacts(ledgerPool)));
  if (findings.length === 0) return { facts: {}, text: '' };
  const lines = findings
    .slice(0, SCHEMA_FINDINGS_MAX)
    .map((finding) => `\nwarning: the schema was changed: ${describeFinding(finding)}`);
  return { facts: { schema_findings: findings }, text: lines.join('') };
}

async function reportOn(session: Session, options: VerifyOptions & { log: LogName }, { onRows }: Progress): Promise<ChainReport> {
  const { workspace, file, log, tenant } = options;
  const given = keysGiven(options);
  const kept = keptHeads(options, given?.keys, log);
  if ('contradiction' in kept) return { tenantId: undefined, entries: 0, head: null, firstBad: undefined, ...kept };
  const walkOptions = { kept: kept.heads, progress: onRows };
  if (file !== undefined) {
    const auditFacts = options.audit === undefined ? {} : await readAuditFacts(options.audit);
    if ('contradiction' in auditFacts) return { tenantId: undefined, entries: 0, head: null, firstBad: undefined, ...auditFacts };
    const tenantId = expectedTenant(tenant, given?.tenantId);
    const verifyFile = (replay?: DecisionReplay) =>
      withInputFile(file, (bytes) =>
        verifyExport(bytes, { digests, sha256 }, { log, ...auditFacts, tenantId, replay, ...walkOptions }),
      );
    if (options.replay === undefined) return verifyFile();
    return withInputFile(options.replay, (events) => verifyFile(new DecisionReplay(events, digests))).catch((error: unknown) => {
      throw error instanceof NotEvidenceError ? new InvalidInputError(`--${error.message}`) : error;
    });
  }
  return session.withWorkspace(workspace!, async ({ pool, signer, secrets }, { id }) => {
    expectedTenant(id, given?.tenantId);
    // A stored checkpoint may be signed by any of the instance's keys, even a retired one. --key applies only to the user's checkpoints.
    const listed = noteKeysOf(signer.instanceId, await listSigningKeys(pool));
    return verifyKnownLog(pool, secrets.masterSecret, { tenantId: id, log }, { keys: listed, ...walkOptions });
  });
}

/**
 * The clock corrections, accepted restores and tenant of an export of the audit ledger, or why the export is not valid. Throws an
 * InvalidInputError for an export of another log.
 */
async function readAuditFacts(
  audit: string,
): Promise<Pick<ExportExpectation, 'corrections' | 'restores' | 'auditTenantId'> | { contradiction: Contradiction }> {
  const {
    tenantId,
    firstBad,
    corrections = [],
    restores = [],
  } = await withInputFile(audit, (bytes) => verifyExport(bytes, { digests, sha256 }));
  if (firstBad?.misfit === true)
    throw new InvalidInputError('--audit must be the export of the audit ledger, but this is an export of another log');
  if (firstBad !== undefined)
    return {
      contradiction: { source: 'the audit ledger', size: 0, reason: `broken at seq ${firstBad.seq}: ${firstBad.reason}` },
    };
  return { corrections, restores, auditTenantId: tenantId };
}

/** Whether a log is valid. */
export const isValid = ({ firstBad, contradiction }: ChainReport): boolean =>
  firstBad === undefined && contradiction === undefined;

function verdictOf(
  { tenantId, entries: count, head, firstBad, contradiction, dropped }: ChainReport,
  keptCount: number,
  areTimesChecked: boolean,
) {
  const tenant = { tenant_id: tenantId ?? null };
  if (firstBad !== undefined) return { result: 'broken', ...tenant, first_bad: firstBad, entries_whole_before: count };
  if (contradiction !== undefined)
    return { result: 'broken', ...tenant, not_met: contradiction, entries: count, head_row_hash: head };
  const facts = { entries: count, head_row_hash: head, times_checked: areTimesChecked };
  const droppedFacts = dropped === undefined ? {} : { dropped_traces: dropped.traces, last_dropped_at: dropped.lastAt };
  return { result: 'ok', ...tenant, ...facts, ...(keptCount === 0 ? {} : { heads_met: keptCount }), ...droppedFacts };
}

/** The report of a verification as one line for people. */
export function sentenceOf(
  { entries: count, head, firstBad, contradiction, dropped }: ChainReport,
  keptCount: number,
  areTimesChecked: boolean,
): string {
  if (firstBad !== undefined) return `broken at seq ${firstBad.seq}: ${shortLine(firstBad.reason, 600)}`;
  if (contradiction !== undefined) return `broken: ${shortLine(`${contradiction.source}: ${contradiction.reason}`, 900)}`;
  const keptText = keptCount === 0 ? '' : `, matches ${keptCount === 1 ? 'the kept head' : `all ${keptCount} kept heads`}`;
  const headText = head === null ? '' : `, head ${head}`;
  return `valid: ${entries(count)}${headText}${keptText}${areTimesChecked ? '' : UNCHECKED_TIMES}${droppedText(dropped)}`;
}

const UNCHECKED_TIMES = '; times were not checked: give --audit';

/** The text about the traces that were dropped, according to the log. */
function droppedText(dropped: DroppedTraces | undefined): string {
  if (dropped === undefined) return '';
  const { traces, lastAt } = dropped;
  const [count, were] = traces === 1 ? ['1 trace', 'was'] : [`${traces} traces`, 'were'];
  return `; ${count} ${were} dropped by retention or erasure, the last time on ${lastAt.slice(0, 10)}`;
}

/** `1 entry`, `2 entries`. */
export const entries = (count: number): string => (count === 1 ? '1 entry' : `${count} entries`);

const EXAMPLES = [
  'ledger verify --workspace acme',
  'ledger verify --workspace acme --log all',
  'ledger verify --file decisions.ndjson --log decisions --replay evidence.ndjson --audit audit.ndjson',
  'ledger verify --file acme.ndjson --checkpoint kept/acme.checkpoint --key instance.vkey',
  "ledger verify --file acme.ndjson --head 'audit;size=6;root=:IDJ0qJDVQ1zs/VT2MPQi0rivrX3BPnVjypyYrhQfFpY=:'",
];

const VERIFY_NOTE = `
Rows alone cannot show that the newest rows are missing, or that all rows were replaced. Keep checkpoints where the server's operator
cannot write: from "ledger checkpoint", COUNTERSIGN_CHECKPOINT_DIR, or the header of promotion checks in a CI log. Give the checkpoints
here with the public key that you kept ("signing-key show"). The HMAC of decisions needs the workspace's key, so it is checked with
--workspace and not in an export. With --replay, each decision must follow from the evidence log. With --workspace, the logs evidence,
keys and traces are also compared with the tables, and every decision is computed again from the evidence log. Each log must then also
continue the checkpoint in the memory folder (COUNTERSIGN_MEMORY_DIR).
`;
