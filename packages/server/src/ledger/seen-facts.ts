import type { KnownEvaluation } from '@countersign/core/domain/evidence-state';
import { digests } from '../crypto/digests.ts';
import { EVALUATION_FACTS } from './evidence-tables.ts';

/** The facts about an evaluation that a person sees before deciding on it, except for the name of its agent. */
export type SeenFacts = Pick<KnownEvaluation, 'id' | (typeof EVALUATION_FACTS)[number]>;

/**
 * SHA-256, hex, of what a person sees about an evaluation and its agent. The response for the page has the digest of the rows that it
 * shows. When the person decides, the digest is computed again, from the evidence log. If the digests differ, the person has seen changed
 * rows.
 */
export const digestOfSeenFacts = (agentName: string, facts: SeenFacts): string =>
  digests.sha256Hex(JSON.stringify([agentName, facts.id, ...EVALUATION_FACTS.map((fact) => facts[fact])]));
