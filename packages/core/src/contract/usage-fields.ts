import { amount, count, optional } from './scalars.ts';

/** The four usage members of spans, traces and telemetry events. */
export const usageFields = (whose: string) => ({
  prompt_tokens: optional(count({ description: `Tokens sent to the model by ${whose}.`, examples: [812] })),
  completion_tokens: optional(count({ description: `Tokens the model produced for ${whose}.`, examples: [64] })),
  total_tokens: optional(count({ description: `Total tokens of ${whose}; by default prompt + completion.`, examples: [876] })),
  cost_usd: optional(amount({ minimum: 0, description: `Cost of ${whose} in US dollars.`, examples: [0.0042] })),
});
