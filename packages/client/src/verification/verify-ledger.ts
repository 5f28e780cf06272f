import { checkpointMisfit, openCheckpoint, parseWitnessedHeads, type TreeHead } from '@countersign/core/domain/checkpoint';
import { verifyExport } from '@countersign/core/domain/export-verifier';
import type { NoteKey } from '@countersign/core/domain/signed-note';
import { listedSuccessionFault } from '@countersign/core/domain/signing-key-succession';
import { trustedKeys } from '@countersign/core/domain/trusted-keys';
import { ConfigurationError } from '../http/errors.ts';
import { hashing, sha256, verifyEd25519 } from './cryptography.ts';

/** An export: its NDJSON in pieces of any size, as a file's stream, a response's body or a text has them. */
export type LedgerSource = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>;

/** What an export is held against besides itself. */
export interface LedgerTrust {
  /** Which log it is an export of. Default `audit`. */
  log?: 'audit' | 'decisions' | 'evidence' | 'keys' | 'traces' | undefined;
  /** For an export of decisions, evidence, keys or traces: the export of the audit ledger, which says where the times of the log may step back. */
  audit?: LedgerSource | undefined;
  /** The workspace whose log it must be. */
  tenantId?: string | undefined;
  /** Checkpoints (signed notes) that somebody kept. Rows alone do not show that the newest are missing, or that all were written anew. */
  checkpoints?: readonly string[] | undefined;
  /** The instance's public keys that were kept: verifier keys, one a line, or the text of a JWKS. Needed for checkpoints. */
  publicKeys?: string | undefined;
  /** `Countersign-Checkpoint` headers that somebody kept, from a CI log for example. */
  heads?: readonly string[] | undefined;
}

/** What was found. */
export type LedgerVerdict =
  | {
      ok: true;
      /** Whose ledger it is; undefined for one that a kept head says is empty, and for an export of decisions, which does not say. */
      tenantId: string | undefined;
      /** Rows, all of them whole. */
      entries: number;
      /** Hash of the last row; null without rows. */
      head: string | null;
      /** How many checkpoints and heads were given; the rows are as all of them say. */
      headsMet: number;
      /** Whether the order of the times was checked: false for decisions, evidence, keys and traces without `audit`. */
      timesChecked: boolean;
    }
  | {
      ok: false;
      /** Rows that are whole, from the first on. */
      entries: number;
      /** Number of the first bad row; undefined when all rows are whole and contradict what was kept. */
      seq: number | undefined;
      fault: string;
      /** True when the lines are an export of another log than `log`, which says nothing of this one. */
      misfit: boolean;
    };

/**
 * Walks an export of the ledger, a line at a time, by the code that the server verifies with. Memory does not grow with the export.
 * @throws ConfigurationError when what was kept is no checkpoint or head of such a log; whatever the source throws.
 */
export async function verifyLedger(lines: LedgerSource, trust: LedgerTrust = {}): Promise<LedgerVerdict> {
  const log = trust.log ?? 'audit';
  const kept = [...keptHeads(trust, log)];
  const wrong = kept.find((each) => 'fault' in each);
  if (wrong !== undefined && 'fault' in wrong)
    return { ok: false, entries: 0, seq: undefined, fault: wrong.fault, misfit: false };
  const heads = kept.filter((each) => 'root' in each);
  const audit = trust.audit === undefined ? undefined : await verifyExport(bytesOf(trust.audit), hashing);
  if (audit?.firstBad !== undefined)
    return {
      ok: false,
      entries: 0,
      seq: undefined,
      fault: `the audit ledger is broken: ${audit.firstBad.reason}`,
      misfit: false,
    };
  const corrections = audit === undefined ? undefined : (audit.corrections ?? []);
  const demand = { log, kept: heads, corrections, restores: audit?.restores, tenantId: trust.tenantId };
  const { tenantId, entries, head, firstBad, contradiction } = await verifyExport(bytesOf(lines), hashing, demand);
  const bad = (fault: string, { seq, misfit = false }: { seq?: number; misfit?: boolean }): LedgerVerdict => {
    return { ok: false, entries, seq, fault, misfit };
  };
  if (firstBad !== undefined) return bad(firstBad.reason, firstBad);
  if (contradiction !== undefined) return bad(`${contradiction.source}: ${contradiction.reason}`, {});
  if (entries === 0 && heads.length === 0) return bad(NO_ROWS, {});
  return { ok: true, tenantId, entries, head, headsMet: heads.length, timesChecked: log === 'audit' || audit !== undefined };
}

/** An export that was cut off at its start looks the same, so nothing is shown by it alone. */
const NO_ROWS = 'the export has no rows, which shows nothing: give a checkpoint or head that says that the log is empty';

async function* bytesOf(lines: LedgerSource): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const piece of typeof lines === 'string' ? [lines] : lines)
    yield typeof piece === 'string' ? encoder.encode(piece) : piece;
}

type Kept = (TreeHead & { source: string }) | { source: string; size: number; root: Uint8Array } | { fault: string };

function* keptHeads(
  { checkpoints = [], publicKeys, heads = [] }: LedgerTrust,
  log: NonNullable<LedgerTrust['log']>,
): Generator<Kept> {
  for (const [index, text] of heads.entries()) {
    const head = parseWitnessedHeads(text)?.get(log);
    if (head === undefined) throw new ConfigurationError(`heads[${index}] is no Countersign-Checkpoint header that names ${log}`);
    yield { source: `the kept head of size ${head.size}`, ...head };
  }
  if (checkpoints.length === 0) return;
  const keys = readKeys(publicKeys);
  for (const [index, note] of checkpoints.entries()) {
    const misfit = checkpointMisfit(note, log);
    if (misfit !== undefined) throw new ConfigurationError(`checkpoints[${index}] ${misfit}`);
    const opened = openCheckpoint(note, keys, verifyEd25519, sha256);
    yield 'fault' in opened ? opened : { source: `checkpoint ${index + 1}`, ...opened.head };
  }
}

function readKeys(text: string | undefined): NoteKey[] {
  const keys = text === undefined ? undefined : trustedKeys(text, sha256);
  if (keys === undefined)
    throw new ConfigurationError('checkpoints need publicKeys: verifier keys one a line, or the text of a JWKS');
  const fault = text?.trim().startsWith('{') ? listedSuccessionFault(JSON.parse(text).keys, SUCCESSION_CHECKS) : undefined;
  if (fault !== undefined) throw new ConfigurationError(`publicKeys contradict themselves: ${fault}`);
  return keys;
}

const SUCCESSION_CHECKS = { sha256, verify: verifyEd25519 };
