import type { Envelope } from '@countersign/core/domain/attestation';
import { formatLogProof } from '@countersign/core/domain/log-proof';
import { rootOfInclusion } from '@countersign/core/domain/merkle-proof';
import { leafHash } from '@countersign/core/domain/merkle-tree';
import { type NoteSigner, sameBytes, toBase64 } from '@countersign/core/domain/signed-note';
import type { Pool } from 'pg';
import { digests, sha256 } from '../crypto/digests.ts';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { findDecisionEvidence } from '../storage/decisions.ts';
import type { LogName } from '../storage/log-heads.ts';
import { findCheckpoint, readLeafData, type StoredCheckpoint } from '../storage/tree.ts';
import {
  type AttestationKeys,
  type AttestationResult,
  attestStored,
  type LoggedDecision,
  readLoggedDecision,
} from './attested-decision.ts';
import { confirmCheckpoint } from './checkpoints.ts';
import { exportLog } from './export.ts';
import { LogRewrittenError, proveConsistency, proveInclusion } from './log-tree.ts';
import { readSealedHead } from './sealed-heads.ts';

/** A proof that the log's tree of size `second` extends its tree of size `first`. */
export interface ConsistencyProof {
  log: LogName;
  first: number;
  second: number;
  /** Base64. */
  hashes: string[];
  /** The checkpoint of size `second` as a signed note; null if none was signed. */
  checkpoint: string | null;
}

/** The dependencies of a reader. */
export interface ReaderParts extends AttestationKeys {
  pool: Pool;
  /** Every current key of the instance. */
  signers: readonly (NoteSigner & AttestationKeys['signers'][number])[];
  /** Returns the newest checkpoint of the log if it covers this many rows or all rows; otherwise signs a new one over all rows. */
  checkpointOver: (tenantId: string, log: LogName, rows: number) => Promise<StoredCheckpoint>;
  publicKeys: () => Promise<{ keys: object[] }>;
}

/**
 * Reads a tenant's logs and their proofs, for the read API, the command line and the portal. It changes nothing except that it may sign
 * checkpoints.
 */
export class LedgerReader {
  readonly #parts: ReaderParts;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
  }

  /**
   * The rows of a range as NDJSON, both ends included. Rows that do not exist are omitted. Memory for the first pages is reserved before
   * they are read.
   */
  async entries(
    tenantId: string,
    log: Exclude<LogName, 'keys'>,
    range: { from: number; to?: number | undefined },
    memory: { reserve(bytes: number): void },
  ): Promise<AsyncIterable<string>> {
    const pages = exportLog(this.#parts.pool, tenantId, log, range, (bytes) => memory.reserve(bytes));
    // The first page is read before the response begins. So if the database is unreachable, the response is a 503.
    const first = await pages.next();
    return (async function* () {
      for (let page = first; !page.done; page = await pages.next()) yield page.value.lines;
    })();
  }

  /** The checkpoint of the log over all current rows. */
  checkpoint(tenantId: string, log: LogName): Promise<StoredCheckpoint> {
    return this.#parts.checkpointOver(tenantId, log, Infinity);
  }

  /**
   * The proof that row `seq` is in the tree of a checkpoint (C2SP tlog-proof); undefined if there is no such row. It uses the newest
   * checkpoint if that covers the row, otherwise a new one. Checkpoints are stored forever, so not every request may sign one.
   * @throws LogRewrittenError if the head is not valid, the row is not in the checkpoint, or stored hashes are missing.
   */
  async inclusionProof(tenantId: string, log: LogName, seq: number): Promise<string | undefined> {
    const { size, root, note } = await this.#parts.checkpointOver(tenantId, log, seq);
    if (seq > size) return undefined;
    const [hashes, row] = await this.#read(tenantId, (tx) =>
      Promise.all([proveInclusion(tx, log, seq - 1, size), readLeafData(tx, log, seq - 1, seq)]),
    );
    const proved = rootOfInclusion(seq - 1, size, leafHash(row, sha256), hashes, sha256);
    if (proved === undefined || !sameBytes(proved, root))
      throw new LogRewrittenError(`row ${seq} of the log ${log} of tenant ${tenantId} is not in its checkpoint of size ${size}`);
    return formatLogProof({ index: seq - 1, hashes, checkpoint: note });
  }

  /**
   * The consistency proof between two sizes. `second` defaults to the size of a checkpoint over all current rows. Undefined if `second` is
   * smaller than `first`, or larger than the log.
   * @throws LogRewrittenError if the head or the checkpoint is not valid, or stored hashes are missing.
   */
  async consistencyProof(
    tenantId: string,
    log: LogName,
    first: number,
    second: number | undefined,
  ): Promise<ConsistencyProof | undefined> {
    const newest = second === undefined ? await this.checkpoint(tenantId, log) : undefined;
    const size = second ?? newest!.size;
    return this.#read(tenantId, async (tx) => {
      const head = await readSealedHead(tx, log);
      if (first > size || size > head.tree.size) return undefined;
      const [hashes, stored] = await Promise.all([
        proveConsistency(tx, log, first, size),
        newest ?? findCheckpoint(tx, log, size),
      ]);
      const signed = stored && (await confirmCheckpoint(tx, log, stored, { head, signers: this.#parts.signers }));
      return { log, first, second: size, hashes: hashes.map(toBase64), checkpoint: signed?.note ?? null };
    });
  }

  /**
   * The JSON text of a decision, as signed and sent; undefined if there is no such decision.
   * @throws LogRewrittenError like `attestation`.
   */
  async decision(tenantId: string, id: string): Promise<string | undefined> {
    return (await this.#read(tenantId, (tx) => this.#loggedDecision(tx, id)))?.document;
  }

  /**
   * The canonical text of a decision's evidence document; undefined if there is no such decision.
   * @throws LogRewrittenError like `attestation`, and if the evidence is not the one that the decision names.
   */
  evidence(tenantId: string, id: string): Promise<string | undefined> {
    return this.#read(tenantId, async (tx) => {
      const logged = await this.#loggedDecision(tx, id);
      const evidence = logged && (await findDecisionEvidence(tx, id));
      if (evidence !== undefined && digests.sha256Hex(evidence) !== logged?.decision.evidence_sha256)
        throw new LogRewrittenError(`decision ${id} of tenant ${tenantId}: its evidence was altered`);
      return evidence;
    });
  }

  async #loggedDecision(tx: Transaction, id: string): Promise<LoggedDecision | undefined> {
    const read = await readLoggedDecision(tx, id, this.#parts);
    if (read === undefined || !('fault' in read)) return read;
    throw new LogRewrittenError(`decision ${id} of tenant ${tx.tenantId}: ${read.fault}`);
  }

  /** The decision's attestation, or the reason why there is none. Undefined if there is no such decision. */
  attestationResult(tenantId: string, id: string): Promise<AttestationResult | undefined> {
    return this.#read(tenantId, (tx) => attestStored(tx, id, this.#parts));
  }

  /**
   * The decision's attestation; undefined if there is no such decision.
   * @throws LogRewrittenError if the decision is not as the server signed it, or is not in the sealed log.
   */
  async attestation(tenantId: string, id: string): Promise<Envelope | undefined> {
    const result = await this.attestationResult(tenantId, id);
    if (result === undefined) return undefined;
    if ('fault' in result) throw new LogRewrittenError(`decision ${id} of tenant ${tenantId}: ${result.fault}`);
    return result.envelope;
  }

  /** The public keys of the instance as a JWK set, including retired ones. */
  publicKeys(): Promise<{ keys: object[] }> {
    return this.#parts.publicKeys();
  }

  #read<T>(tenantId: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return inTenantTransaction(this.#parts.pool, tenantId, work);
  }
}
