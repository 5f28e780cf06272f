import type { Convention, Field, Rule } from './convention.ts';
import { genAi } from './gen-ai.ts';
import { langfuse } from './langfuse.ts';
import { olderGenAi } from './older-gen-ai.ts';
import { openInference } from './openinference.ts';
import { openLlmetry } from './openllmetry.ts';
import { vercelAi } from './vercel-ai.ts';

/** All conventions. If several have a value for a field, the value of the first convention is used. */
export const CONVENTIONS: readonly Convention[] = [genAi, olderGenAi, openInference, langfuse, openLlmetry, vercelAi];

/**
 * The order in which the conventions determine the kind of a span: first those with an attribute for the kind or the operation. The last
 * one, olderGenAi, infers the kind from other attributes.
 */
export const KIND_ORDER: readonly Convention[] = [openInference, genAi, openLlmetry, vercelAi, langfuse, olderGenAi];

/** The rules of all conventions by field, in order. */
export const RULES: ReadonlyMap<Field, readonly Rule[]> = Map.groupBy(
  CONVENTIONS.flatMap(({ rules }) => rules),
  ({ field }) => field,
);
