import type { Convention, Field, Rule } from './convention.ts';
import { genAi } from './gen-ai.ts';
import { langfuse } from './langfuse.ts';
import { olderGenAi } from './older-gen-ai.ts';
import { openInference } from './openinference.ts';
import { openLlmetry } from './openllmetry.ts';
import { vercelAi } from './vercel-ai.ts';

/** All conventions. Of a field that several of them give, the first one counts. */
export const CONVENTIONS: readonly Convention[] = [genAi, olderGenAi, openInference, langfuse, openLlmetry, vercelAi];

/** In the order in which they say what kind of step a span is: a kind that is named outranks what the attributes suggest. */
export const KIND_ORDER: readonly Convention[] = [openInference, genAi, openLlmetry, vercelAi, olderGenAi];

/** The rules of all conventions by field, in order. */
export const RULES: ReadonlyMap<Field, readonly Rule[]> = Map.groupBy(
  CONVENTIONS.flatMap(({ rules }) => rules),
  ({ field }) => field,
);
