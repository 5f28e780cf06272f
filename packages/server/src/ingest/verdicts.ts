import { canonicalJson } from '@countersign/core/domain/canonical-json';
import {
  type DecidedMembers,
  decideFromEvidence,
  type EvidenceDocument,
  type EvidenceQuestion,
  evidenceDocument,
} from '@countersign/core/domain/evidence-document';
import type { EvidenceState, FoundEvidence } from '@countersign/core/domain/evidence-state';
import { namesLookAlike } from '@countersign/core/domain/name-skeleton';
import { digests } from '../crypto/digests.ts';
import type { Transaction } from '../database/transaction.ts';
import { type ApiError, validationFailed } from '../errors/api-error.ts';
import { findSimilarNames, skeletonDigests } from '../storage/similar-agents.ts';

/** The result of a question. All checks of a batch with this question share it. */
export interface Verdict {
  evidence: EvidenceDocument;
  /** The canonical text of `evidence`. */
  evidenceText: string;
  /** SHA-256 of that text, 64 hex digits. */
  evidenceSha256: string;
  members: DecidedMembers;
}

/** The evidence of each distinct question, in order, from one state of the evidence log. */
export interface EvidenceOfQuestions {
  found: readonly FoundEvidence[];
  /** The time of the database when the state was read: UTC with microseconds. */
  readAt: string;
  /** The number of events in this state. */
  size: number;
  /** Whether the first `size` events register an agent with this name. */
  isRegistered: (name: string) => boolean;
}

/** The distinct questions of the checks of a batch. Pipelines often send the same question at the same time. */
export class DistinctQuestions {
  readonly #indexes = new Map<string, number>();
  readonly questions: EvidenceQuestion[] = [];

  /** The index of a question in `questions`. Adds the question if it is new. */
  indexOf(question: EvidenceQuestion): number {
    const { agent_id, agent_name, harness_id, max_age_hours, min_pass_rate } = question;
    const key = JSON.stringify([agent_id, agent_name, harness_id, max_age_hours, min_pass_rate]);
    const knownIndex = this.#indexes.get(key);
    if (knownIndex !== undefined) return knownIndex;
    this.#indexes.set(key, this.questions.length);
    return this.questions.push(question) - 1;
  }

  /** Reads the evidence of every question from the state of the log. */
  lookUp(state: EvidenceState, readAt: string): EvidenceOfQuestions {
    const { size } = state;
    // `state` may contain later events when this function is called.
    const isRegistered = (name: string) => (state.agentNamed(name)?.seq ?? Infinity) <= size;
    return { found: this.questions.map((question) => state.find(question)), readAt, size, isRegistered };
  }

  /** The verdict on each question, in order; a 422 for a question whose ID and name do not belong to the same agent. */
  async decide(tx: Transaction, { found, readAt, isRegistered }: EvidenceOfQuestions): Promise<(Verdict | ApiError)[]> {
    const isUnknown = ({ evidence, agentsDiffer }: FoundEvidence) => evidence.agent === null && !agentsDiffer;
    const unknownNames = this.questions.flatMap(({ agent_name: name }, index) =>
      isUnknown(found[index]!) && name !== null ? [name] : [],
    );
    const similar = unknownNames.length > 0 ? await findSimilarAgents(tx, unknownNames, isRegistered) : undefined;
    return this.questions.map((question, index) => {
      const { evidence, agentsDiffer } = found[index]!;
      if (agentsDiffer) return agentMismatch();
      const names = evidence.agent === null ? (similar?.get(question.agent_name ?? '') ?? []) : [];
      return verdictOn(evidenceDocument(tx.tenantId, question, { ...evidence, read_at: readAt }, names));
    });
  }
}

function verdictOn(evidence: EvidenceDocument): Verdict {
  const evidenceText = canonicalJson(evidence);
  return { evidence, evidenceText, evidenceSha256: digests.sha256Hex(evidenceText), members: decideFromEvidence(evidence) };
}

/** The largest number of unknown agent names of one batch that are compared with known names. */
const COMPARED_NAMES_MAX = 100;

/**
 * For each unknown name: the names of known agents that look like it. Names beyond COMPARED_NAMES_MAX are not in the map. The table of
 * agents only proposes names, because its rows can be changed without the server. A name counts only if the log has it and it looks like
 * the unknown name.
 */
async function findSimilarAgents(
  tx: Transaction,
  unknownNames: readonly string[],
  isRegistered: EvidenceOfQuestions['isRegistered'],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const names = [...new Set(unknownNames)].slice(0, COMPARED_NAMES_MAX);
  const proposed = await findSimilarNames(tx, names.map(skeletonDigests));
  const isSimilar = (name: string, other: string) => isRegistered(other) && namesLookAlike(name, other);
  return new Map(names.map((name, index) => [name, proposed[index]!.filter((other) => isSimilar(name, other))]));
}

const agentMismatch = (): ApiError =>
  validationFailed({
    path: '/agent_name',
    code: 'agent_mismatch',
    message: 'agent_id and agent_name do not belong to the same agent; send one of the two',
  });
