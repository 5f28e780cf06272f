import { checkpointMismatch, openCheckpoint, type TreeHead } from '@countersign/core/domain/checkpoint';
import { DecisionReplay, NotEvidenceError } from '@countersign/core/domain/decision-replay';
import { verifyExport } from '@countersign/core/domain/export-verifier';
import { isUuid } from '@countersign/core/domain/member-forms';
import type { NoteKey } from '@countersign/core/domain/signed-note';
import { listedSuccessionFault } from '@countersign/core/domain/signing-key-succession';
import { parseUnsignedHeads } from '@countersign/core/domain/tree-head-header';
import { trustedKeys } from '@countersign/core/domain/trusted-keys';
import { ConfigurationError } from '../http/errors.ts';
import { hashing, sha256, verifyEd25519 } from './cryptography.ts';

/** An export as NDJSON in chunks of any size: a file stream, the body of a response, or a text. */
export type LedgerSource = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>;

/** What an export is compared with. */
export interface LedgerTrust {
  /** The log of the export. Default `audit`. */
  log?: 'audit' | 'decisions' | 'evidence' | 'keys' | 'traces' | undefined;
  /** For logs other than `audit`: the export of the audit ledger, which contains the clock corrections and accepted restores. */
  audit?: LedgerSource | undefined;
  /** For an export of decisions: the export of the evidence log, from which every decision is computed again. */
  replay?: LedgerSource | undefined;
  /** The expected workspace. */
  tenantId?: string | undefined;
  /**
   * Checkpoints (signed notes) that you kept. An export alone cannot show that its newest rows are missing or that all rows were
   * replaced.
   */
  checkpoints?: readonly string[] | undefined;
  /** The instance's public keys that you kept: verifier keys, one per line, or the text of a JWKS. Needed for checkpoints. */
  publicKeys?: string | undefined;
  /** `Countersign-Checkpoint` headers that you kept, from a CI log for example. */
  heads?: readonly string[] | undefined;
}

/** The result of verifying an export. */
export type LedgerVerdict =
  | {
      ok: true;
      /** The workspace of the log. Undefined if none was expected and no row names one. Decisions of older servers name none. */
      tenantId: string | undefined;
      /** The number of rows. */
      entries: number;
      /** Hash of the last row; null without rows. */
      head: string | null;
      /** The number of checkpoints and heads that the rows match. */
      headsMet: number;
      /** Whether the order of the times was checked. False for logs other than `audit` if the option `audit` is missing. */
      timesChecked: boolean;
    }
  | {
      ok: false;
      /**
       * The number of intact rows, from the first on. 0 if the export was not read, because a checkpoint or the audit ledger is invalid.
       */
      entries: number;
      /** Number of the first bad row; undefined if no row is bad, for example if intact rows contradict a kept checkpoint or head. */
      seq: number | undefined;
      fault: string;
      /** True if the lines are an export of a log other than `log`. */
      misfit: boolean;
    };

/**
 * Verifies an export line by line, with the same code as the server. Memory does not grow with the rows of the logs `audit` and `traces`.
 * For the other logs it grows with the number of decisions, agents or keys.
 * @throws ConfigurationError if `trust` is incomplete, malformed or inconsistent, if a kept checkpoint or head is malformed or of another
 * log, or if `audit` or `replay` is an export of another log. Errors of the source are thrown unchanged.
 */
export async function verifyLedger(lines: LedgerSource, trust: LedgerTrust = {}): Promise<LedgerVerdict> {
  const log = trust.log ?? 'audit';
  const headsOrFaults = [...keptHeads(trust, log)];
  const invalid = headsOrFaults.find((each) => 'fault' in each);
  if (invalid !== undefined && 'fault' in invalid)
    return { ok: false, entries: 0, seq: undefined, fault: invalid.fault, misfit: false };
  const heads = headsOrFaults.filter((each) => 'root' in each);
  const audit = trust.audit === undefined ? undefined : await verifyExport(bytesOf(trust.audit), hashing);
  if (audit?.firstBad?.misfit === true)
    throw new ConfigurationError('audit must be the export of the audit ledger, but this is an export of another log');
  if (audit?.firstBad !== undefined)
    return {
      ok: false,
      entries: 0,
      seq: undefined,
      fault: `the audit ledger is broken: ${audit.firstBad.reason}`,
      misfit: false,
    };
  const corrections = audit === undefined ? undefined : (audit.corrections ?? []);
  if (trust.replay !== undefined && log !== 'decisions')
    throw new ConfigurationError('replay is only for exports of the decision log: log must be decisions');
  const replay = trust.replay === undefined ? undefined : new DecisionReplay(bytesOf(trust.replay), hashing.digests);
  const fromAudit = { corrections, restores: audit?.restores, auditTenantId: audit?.tenantId };
  const expectation = { log, keptHeads: heads, ...fromAudit, tenantId: uuidOf(trust.tenantId), replay };
  const { tenantId, entries, head, firstBad, contradiction } = await verifyExport(bytesOf(lines), hashing, expectation).catch(
    (error: unknown) => {
      throw error instanceof NotEvidenceError ? new ConfigurationError(error.message, { cause: error }) : error;
    },
  );
  const brokenVerdict = (fault: string, { seq, misfit = false }: { seq?: number; misfit?: boolean }): LedgerVerdict => {
    return { ok: false, entries, seq, fault, misfit };
  };
  if (firstBad !== undefined) return brokenVerdict(firstBad.reason, firstBad);
  if (contradiction !== undefined) return brokenVerdict(`${contradiction.source}: ${contradiction.reason}`, {});
  if (entries === 0 && heads.length === 0) return brokenVerdict(NO_ROWS, {});
  return { ok: true, tenantId, entries, head, headsMet: heads.length, timesChecked: log === 'audit' || audit !== undefined };
}

/** A workspace ID in lower case, as in exports. */
function uuidOf(tenantId: string | undefined): string | undefined {
  const id = tenantId?.toLowerCase();
  if (id !== undefined && !isUuid(id)) throw new ConfigurationError(`tenantId is not a UUID: ${JSON.stringify(tenantId)}`);
  return id;
}

/** An export without rows may be of an empty log, or all its rows were removed. So it proves nothing. */
const NO_ROWS = 'the export has no rows, which proves nothing: give a checkpoint or head that shows that the log is empty';

async function* bytesOf(lines: LedgerSource): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const chunk of typeof lines === 'string' ? [lines] : lines)
    yield typeof chunk === 'string' ? encoder.encode(chunk) : chunk;
}

type KeptHeadOrFault = (TreeHead & { source: string }) | { source: string; size: number; root: Uint8Array } | { fault: string };

function* keptHeads(
  { checkpoints = [], publicKeys, heads = [] }: LedgerTrust,
  log: NonNullable<LedgerTrust['log']>,
): Generator<KeptHeadOrFault> {
  for (const [index, text] of heads.entries()) {
    const head = parseUnsignedHeads(text)?.get(log);
    if (head === undefined)
      throw new ConfigurationError(`heads[${index}] is not a Countersign-Checkpoint header with the log ${log}`);
    yield { source: `the kept head of size ${head.size}`, ...head };
  }
  if (checkpoints.length === 0) return;
  const keys = readKeys(publicKeys);
  for (const [index, note] of checkpoints.entries()) {
    const mismatch = checkpointMismatch(note, log);
    if (mismatch !== undefined) throw new ConfigurationError(`checkpoints[${index}] ${mismatch}`);
    const openedCheckpoint = openCheckpoint(note, keys, verifyEd25519, sha256);
    yield 'fault' in openedCheckpoint ? openedCheckpoint : { source: `checkpoint ${index + 1}`, ...openedCheckpoint.head };
  }
}

function readKeys(text: string | undefined): NoteKey[] {
  const keys = text === undefined ? undefined : trustedKeys(text, sha256);
  if (keys === undefined)
    throw new ConfigurationError('checkpoints need publicKeys: verifier keys, one per line, or the text of a JWKS');
  const fault = text?.trim().startsWith('{') ? listedSuccessionFault(JSON.parse(text).keys, SUCCESSION_CHECKS) : undefined;
  if (fault !== undefined) throw new ConfigurationError(`publicKeys are inconsistent: ${fault}`);
  return keys;
}

const SUCCESSION_CHECKS = { sha256, verify: verifyEd25519 };
