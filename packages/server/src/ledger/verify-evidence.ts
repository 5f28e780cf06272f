import type { ChainReport } from '@countersign/core/domain/chain-report';
import type { RowTimes } from '@countersign/core/domain/clock-correction';
import { applyEvent } from '@countersign/core/domain/event-conflict';
import { readEvidenceEvent } from '@countersign/core/domain/evidence-event';
import { EvidenceState, evaluationOfEvent } from '@countersign/core/domain/evidence-state';
import type { Pool } from 'pg';
import { inTenantTransaction } from '../database/transaction.ts';
import { readEvidenceEvents, type StoredEvidenceEvent } from '../storage/evidence-events.ts';
import { type EvaluationFacts, readEvaluationFactsPage } from '../storage/evidence-tables.ts';
import { compareTables, evaluationFault, type TableFinding } from './evidence-tables.ts';
import { differenceReason, FINDINGS_PER_WORKSPACE_MAX, tableSource } from './row-findings.ts';
import { readStoredEvent } from './stored-event.ts';
import { type RowCheck, type WalkOptions, walkLog } from './walk-log.ts';

/** The range of a row's number. The server assigns positive numbers, but a row that was inserted outside the server may have any number. */
const [SEQ_MIN, SEQ_MAX] = [-(2n ** 63n), 2n ** 63n - 1n];

/** The result of verifying an evidence log and comparing the tables with it. */
export interface EvidenceReport extends ChainReport {
  /** Rows that differ from the log, at most FINDINGS_PER_WORKSPACE_MAX. */
  findings: readonly TableFinding[];
}

/**
 * Verifies a tenant's evidence log in the database: hash and order of the events, head, tree and checkpoints. Meanwhile it compares each
 * evaluation of the log with its row. If the log is valid, it then compares the log's current state with the tables (`compareTables`).
 */
export async function verifyEvidence(pool: Pool, tenantId: string, options: WalkOptions = {}): Promise<EvidenceReport> {
  const state = new EvidenceState();
  const evaluations = new StoredEvaluations(pool, tenantId);
  const findings: TableFinding[] = [];
  const check = (row: StoredEvidenceEvent, seq: number, times: RowTimes): RowCheck | Promise<RowCheck> => {
    const read = readStoredEvent(row, { seq, tenantId }, readEvidenceEvent);
    if ('fault' in read) return read;
    const fault = applyEvent(state, read.event) ?? times.next(seq, read.event.recorded_at, 'recorded_at');
    if (fault !== undefined) return { fault };
    if (read.event.action !== 'evaluation.recorded' || findings.length >= FINDINGS_PER_WORKSPACE_MAX)
      return { hash: row.event_hash };
    const evaluation = evaluationOfEvent(read.event);
    return evaluations.take(evaluation.id).then((stored) => {
      const difference = evaluationFault(evaluation, stored);
      if (difference !== undefined) findings.push({ table: 'evaluations', id: evaluation.id, fault: difference });
      return { hash: row.event_hash };
    });
  };
  const report = await walkLog(pool, tenantId, { log: 'evidence', isChained: false, read: readEvidenceEvents, check }, options);
  // The tables cannot be compared with an invalid log.
  if (report.firstBad === undefined && report.contradiction === undefined) await addTableFindings(pool, tenantId, findings);
  findings.push(...evaluations.unknownRows);
  const [first] = findings;
  const reported = findings.slice(0, FINDINGS_PER_WORKSPACE_MAX);
  if (first === undefined || report.contradiction !== undefined) return { ...report, findings: reported };
  const reason = differenceReason(first, findings.length);
  return { ...report, findings: reported, contradiction: { source: tableSource(first.table), size: report.entries, reason } };
}

/** Adds the findings of `compareTables`, except those about evaluations that are in the list already. */
async function addTableFindings(pool: Pool, tenantId: string, findings: TableFinding[]): Promise<void> {
  for await (const finding of compareTables(pool, tenantId)) {
    if (findings.length >= FINDINGS_PER_WORKSPACE_MAX) return;
    if (!findings.some(({ table, id }) => table === finding.table && id === finding.id)) findings.push(finding);
  }
}

/** Reads the stored evaluations of agents in the order of their numbers. The log must have the same order. */
class StoredEvaluations {
  /** Rows that the log does not contain at their position. */
  readonly unknownRows: TableFinding[] = [];
  readonly #read: (from: bigint) => Promise<EvaluationFacts[]>;
  #rows: EvaluationFacts[] = [];
  /** The lowest number of the next page; undefined if there is none. */
  #from: bigint | undefined = SEQ_MIN;

  constructor(pool: Pool, tenantId: string) {
    this.#read = (from) => inTenantTransaction(pool, tenantId, (tx) => readEvaluationFactsPage(tx, from));
  }

  /**
   * Returns the row of an evaluation; undefined if neither the loaded rows nor the next page contain it. Adds the rows before it to
   * `unknownRows`.
   */
  async take(id: string): Promise<EvaluationFacts | undefined> {
    if (this.#rows.length === 0) await this.#readNextPage();
    let index = this.#rows.findIndex((row) => row.id === id);
    if (index === -1) {
      // The row may follow inserted rows at the end of the page.
      await this.#readNextPage();
      index = this.#rows.findIndex((row) => row.id === id);
    }
    if (index === -1) return undefined;
    const [found] = this.#rows.splice(index, 1);
    for (const { id: unknownId } of this.#rows.splice(0, index))
      if (this.unknownRows.length < FINDINGS_PER_WORKSPACE_MAX)
        this.unknownRows.push({
          table: 'evaluations',
          id: unknownId,
          fault: 'the log has no such evaluation: the row was inserted outside the server',
        });
    return found;
  }

  async #readNextPage(): Promise<void> {
    if (this.#from === undefined) return;
    const page = await this.#read(this.#from);
    const last = BigInt(page.at(-1)?.number ?? SEQ_MAX);
    this.#from = last === SEQ_MAX ? undefined : last + 1n;
    this.#rows.push(...page);
  }
}
