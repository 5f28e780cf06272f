import { applyEvent } from '@countersign/core/domain/event-conflict';
import { readEvidenceEvent } from '@countersign/core/domain/evidence-event';
import { EvidenceState, type FoundEvidence } from '@countersign/core/domain/evidence-state';
import type { Pool } from 'pg';
import { digests } from '../crypto/digests.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { readEvidenceEvents } from '../storage/evidence-events.ts';
import { parsedDocument } from './stored-document.ts';

/** The members of an evidence document that are computed from the evidence log. */
const DERIVED_MEMBERS = ['agent', 'approval', 'evaluation', 'open_recertifications', 'other_evaluations'] as const;

/** Computes the evidence of each decision again from the log, in the order of the decisions. */
export class EvidenceReplay {
  readonly #read: (after: number, last: number) => ReturnType<typeof readEvidenceEvents>;
  readonly #tenantId: string;
  readonly #state = new EvidenceState();

  constructor(pool: Pool, tenantId: string) {
    this.#tenantId = tenantId;
    this.#read = (after, last) => inTenantTransaction(pool, tenantId, (tx) => readEvidenceEvents(tx, after, last));
  }

  /** How the evidence of a decision differs from the log; undefined if it matches. Returns a promise only if events must be read. */
  fault(decision: Record<string, unknown>, evidence: string): string | undefined | Promise<string | undefined> {
    const size = decision.evidence_size;
    if (!Number.isSafeInteger(size)) return 'evidence_size of the decision is missing or not an integer';
    if ((size as number) < this.#state.size)
      return `evidence_size is ${size}, smaller than in an earlier decision, where it is ${this.#state.size}`;
    if (size === this.#state.size) return this.#faultOfEvidence(evidence);
    return this.#readUpTo(size as number).then((fault) => fault ?? this.#faultOfEvidence(evidence));
  }

  async #readUpTo(size: number): Promise<string | undefined> {
    while (this.#state.size < size) {
      const rows = await this.#read(this.#state.size, size);
      if (rows.length === 0) return `evidence_size is ${size}, but the evidence log has only ${this.#state.size} events`;
      for (const row of rows) {
        const read = readEvidenceEvent(
          parsedDocument(row.document),
          { seq: this.#state.size + 1, tenantId: this.#tenantId },
          digests,
        );
        if ('fault' in read) return `event ${row.seq} of the evidence log: ${read.fault}`;
        const conflict = applyEvent(this.#state, read.event);
        if (conflict !== undefined) return `event ${row.seq} of the evidence log: ${conflict}`;
      }
    }
    return undefined;
  }

  #faultOfEvidence(text: string): string | undefined {
    const evidence = parsedDocument(text);
    const { asked: question } = evidence as { asked: Parameters<EvidenceState['find']>[0] };
    const found = this.#state.find(question);
    if (found.agentsDiffer) return 'the requested ID and name do not belong to one agent';
    const differing = DERIVED_MEMBERS.find(
      (member) => JSON.stringify(evidence?.[member]) !== JSON.stringify(found.evidence[member]),
    );
    const member = differing ?? (this.#areAgentsOfLog(evidence?.similar_names, found) ? undefined : 'similar_names');
    return member === undefined ? undefined : `${member} of its evidence does not follow from the evidence log`;
  }

  /**
   * Whether the similar names are agents of the log. For a known agent, there must be no similar names. Whether the names look alike is not
   * checked, because a later version may compare names differently.
   */
  #areAgentsOfLog(names: unknown, { evidence: { agent } }: FoundEvidence): boolean {
    if (!Array.isArray(names)) return false;
    return agent === null ? names.every((name) => this.#state.agentNamed(name) !== undefined) : names.length === 0;
  }
}
