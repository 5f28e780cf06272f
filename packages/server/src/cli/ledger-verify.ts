import type { ChainReport, Contradiction } from '@countersign/core/domain/chain-report';
import { DecisionReplay, NotEvidenceError } from '@countersign/core/domain/decision-replay';
import { type ExportExpectation, verifyExport } from '@countersign/core/domain/export-verifier';
import { type Command, Option } from 'commander';
import type { OpenDatabase } from '../app/open-database.ts';
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
import { collectValues, keptHeads, readKeyOption, requireTenantId, type VerificationOptions } from './verification-options.ts';
import { isValid, sentenceOf, verdictOf } from './verification-verdict.ts';

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
    .option('--checkpoint <file>', 'a checkpoint that you kept; can be repeated', collectValues)
    .option('--head <header>', 'a Countersign-Checkpoint header that you kept; can be repeated', collectValues)
    .option(
      '--key <key>',
      'the public key: a verifier key, or a file with verifier keys, a JWKS or a trust file; with a trust file, the log must belong to its workspace; can be repeated',
      collectValues,
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
      const { report, schema } = await (options.file === undefined
        ? verifyInWorkspace(session, { ...options, log })
        : verifyInFile(session, { ...options, log }, options.file));
      // An export of another log is a usage error. It is not reported as a broken log.
      if (report.firstBad?.misfit === true) throw new InvalidInputError(report.firstBad.reason);
      // The exit status is set before the output, so that it is right even if the reader of the output closes the stream.
      session.ending = isValid(report) ? 'ok' : 'broken';
      const keptCount = (options.checkpoint ?? []).length + (options.head ?? []).length;
      const areTimesChecked = options.file === undefined || options.log === 'audit' || options.audit !== undefined;
      await session.writeResult(
        { ...verdictOf(report, keptCount, areTimesChecked), ...schema.facts },
        sentenceOf(report, keptCount, areTimesChecked) + schema.text,
      );
    });
}

/** Verifies every log of a workspace, one after the other. */
async function verifyAll(session: Session, options: VerifyOptions): Promise<void> {
  const logs = LOG_NAMES.map((log) => ({ log, expectation: expectationOf({ ...options, log }) }));
  const { reports, schema } = await session.withWorkspace(options.workspace!, async (database, { id }) => {
    const logReports: [LogName, ChainReport][] = [];
    for (const { log, expectation } of logs) {
      const verify = (onRows: OnRows) => reportOnLog(database, { tenantId: id, log }, expectation, onRows);
      logReports.push([log, await withProgress(session, options, verify)]);
    }
    return { reports: logReports, schema: await schemaOf(database) };
  });
  const areValid = reports.every(([, report]) => isValid(report));
  session.ending = areValid ? 'ok' : 'broken';
  const verdicts = Object.fromEntries(reports.map(([log, report]) => [log, verdictOf(report, 0, true)]));
  const sentences = reports.map(([log, report]) => `${log}: ${sentenceOf(report, 0, true)}`);
  await session.writeResult(
    { result: areValid ? 'ok' : 'broken', logs: verdicts, ...schema.facts },
    sentences.join('\n') + schema.text,
  );
}

/** The report of a log, and the differences of the database's schema. */
interface Verification {
  report: ChainReport;
  schema: SchemaWarnings;
}

/** The differences of a schema, for the JSON output and for the text output. */
interface SchemaWarnings {
  facts: object;
  text: string;
}

const NO_WARNINGS: SchemaWarnings = { facts: {}, text: '' };

/** Where the schema of the database differs from the migrations. Only a warning, because the rows can be valid anyway. */
async function schemaOf({ pool }: OpenDatabase): Promise<SchemaWarnings> {
  const findings = schemaFindings(await readSchemaFacts(pool));
  if (findings.length === 0) return NO_WARNINGS;
  const lines = findings
    .slice(0, SCHEMA_FINDINGS_MAX)
    .map((finding) => `\nwarning: the schema was changed: ${describeFinding(finding)}`);
  return { facts: { schema_findings: findings }, text: lines.join('') };
}

type LogOptions = VerifyOptions & { log: LogName };

/** What a log must match: the workspace of --key, and the heads that the user kept. If a kept checkpoint is not valid: why. */
const expectationOf = (options: LogOptions) => {
  const keyOption = readKeyOption(options);
  return { keysTenantId: keyOption?.tenantId, ...keptHeads(options, keyOption?.keys, options.log) };
};

type Expectation = ReturnType<typeof expectationOf>;

/** Verifies one log of a workspace in the database. */
async function verifyInWorkspace(session: Session, options: LogOptions): Promise<Verification> {
  const { log } = options;
  const expectation = expectationOf(options);
  return session.withWorkspace(options.workspace!, async (database, { id }) => ({
    report: await withProgress(session, options, (onRows) => reportOnLog(database, { tenantId: id, log }, expectation, onRows)),
    schema: await schemaOf(database),
  }));
}

/** Verifies the export of a log. */
async function verifyInFile(session: Session, options: LogOptions, file: string): Promise<Verification> {
  const report = await withProgress(session, options, (onRows) => reportOnFile(file, options, onRows));
  return { report, schema: NO_WARNINGS };
}

type OnRows = Progress['onRows'];

/** Runs a verification, and shows its progress until it has ended. */
function withProgress<T>(session: Session, options: VerifyOptions, work: (onRows: OnRows) => Promise<T>): Promise<T> {
  const { onRows, done } = progressOn(session, options.progress === true);
  return work(onRows).finally(done);
}

async function reportOnLog(
  { pool, signer, secrets }: OpenDatabase,
  { tenantId, log }: { tenantId: string; log: LogName },
  expectation: Expectation,
  progress: OnRows,
): Promise<ChainReport> {
  if ('contradiction' in expectation) return contradictionReport(expectation);
  requireTenantId(tenantId, expectation.keysTenantId);
  // A stored checkpoint may be signed by any of the instance's keys, even a retired one. --key applies only to the user's checkpoints.
  const keys = noteKeysOf(signer.instanceId, await listSigningKeys(pool));
  return verifyKnownLog(pool, secrets.masterSecret, { tenantId, log }, { keys, keptHeads: expectation.heads, progress });
}

async function reportOnFile(file: string, options: LogOptions, progress: OnRows): Promise<ChainReport> {
  const { audit, replay, log } = options;
  const expectation = expectationOf(options);
  if ('contradiction' in expectation) return contradictionReport(expectation);
  const auditFacts = audit === undefined ? {} : await readAuditFacts(audit);
  if ('contradiction' in auditFacts) return contradictionReport(auditFacts);
  const tenantId = requireTenantId(options.tenant, expectation.keysTenantId);
  const expected = { log, ...auditFacts, tenantId, keptHeads: expectation.heads, progress };
  const verifyFile = (decisionReplay?: DecisionReplay) =>
    withInputFile(file, (bytes) => verifyExport(bytes, { digests, sha256 }, { ...expected, replay: decisionReplay }));
  if (replay === undefined) return verifyFile();
  return withInputFile(replay, (events) => verifyFile(new DecisionReplay(events, digests))).catch((error: unknown) => {
    throw error instanceof NotEvidenceError ? new InvalidInputError(`--${error.message}`) : error;
  });
}

/** The report of a log that is not read, because the kept checkpoints or the audit ledger are not valid. */
const contradictionReport = ({ contradiction }: { contradiction: Contradiction }): ChainReport => ({
  tenantId: undefined,
  entries: 0,
  head: null,
  firstBad: undefined,
  contradiction,
});

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
