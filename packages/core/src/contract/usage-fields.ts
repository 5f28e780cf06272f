import { amount, count, optional } from './scalars.ts';

/** The sentences about defaults that end the descriptions of usage members. Each is empty or starts with a space. */
interface UsageDefaults {
  /** For every member except `total_tokens`. */
  each: string;
  /** For `total_tokens`. */
  total: string;
}

/** The defaults of a span and of a telemetry event. */
const SPAN_AND_EVENT_DEFAULTS: UsageDefaults = {
  each: '',
  total: ' Default: the sum of the reported prompt and completion tokens.',
};

/** The defaults of a trace. */
export const TRACE_DEFAULTS: UsageDefaults = {
  each: ' Default: the sum over the spans.',
  total: ' Default: prompt + completion if both are sent, otherwise the sum over the spans.',
};

/** The four usage members of spans, traces and telemetry events. @param owner what the usage belongs to, for the descriptions. */
export const usageFields = (owner: string, { each, total }: UsageDefaults = SPAN_AND_EVENT_DEFAULTS) => ({
  prompt_tokens: optional(count({ description: `Tokens sent to the model by ${owner}.${each}`, examples: [812] })),
  completion_tokens: optional(count({ description: `Tokens the model produced for ${owner}.${each}`, examples: [64] })),
  total_tokens: optional(count({ description: `Total tokens of ${owner}.${total}`, examples: [876] })),
  cost_usd: optional(amount({ minimum: 0, description: `Cost of ${owner} in US dollars.${each}`, examples: [0.0042] })),
});
