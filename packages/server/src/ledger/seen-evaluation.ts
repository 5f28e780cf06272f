import type { KnownEvaluation } from '@countersign/core/domain/evidence-state';
import { digests } from '../crypto/digests.ts';
import { EVALUATION_FACTS } from './evidence-tables.ts';

/** The facts about an evaluation that a person sees before deciding on it, except for the name of its agent. */
export type SeenFacts = Pick<KnownEvaluation, 'id' | (typeof EVALUATION_FACTS)[number]>;

/**
 * SHA-256, hex, of what a person sees about an evaluation and its agent. A page computes it from the rows that it shows, and the decision
 * from the evidence log. So rows that were changed only while the person read them cannot mislead the person.
 */
export const digestOfSeen = (agentName: string, facts: SeenFacts): string =>
  digests.sha256Hex(JSON.stringify([agentName, facts.id, ...EVALUATION_FACTS.map((fact) => facts[fact])]));
