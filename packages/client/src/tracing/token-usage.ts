/** The token usage of a model call, with the names of this contract. */
export interface TokenUsage {
  prompt_tokens?: number;
  completion_tokens?: number;
  total_tokens?: number;
  cost_usd?: number;
}

/**
 * Reads a `usage` object of a model API: OpenAI (`prompt_tokens`, or `input_tokens` of the Responses API), Anthropic (`input_tokens` plus
 * the tokens of its cache), Vercel AI (`inputTokens`, `promptTokens`), or this contract's own names. Missing or invalid counts are left
 * out.
 */
export function tokenUsage(usage: unknown): TokenUsage {
  if (typeof usage !== 'object' || usage === null) return {};
  const members = usage as Record<string, unknown>;
  const firstCount = (...names: string[]) => names.map((name) => members[name]).find(isCount);
  const reportedPrompt = firstCount('prompt_tokens', 'inputTokens', 'promptTokens');
  // Anthropic's `input_tokens` excludes cached tokens. The counts of other APIs include them.
  const cachedCounts = [members.cache_creation_input_tokens, members.cache_read_input_tokens].filter(isCount);
  const input = firstCount('input_tokens');
  const prompt = reportedPrompt ?? (input === undefined ? undefined : cachedCounts.reduce((sum, count) => sum + count, input));
  const completion = firstCount('completion_tokens', 'output_tokens', 'outputTokens', 'completionTokens');
  const total = firstCount('total_tokens', 'totalTokens');
  const { cost_usd: cost } = members;
  return {
    ...(prompt === undefined ? {} : { prompt_tokens: prompt }),
    ...(completion === undefined ? {} : { completion_tokens: completion }),
    ...(total === undefined ? {} : { total_tokens: total }),
    ...(typeof cost === 'number' && Number.isFinite(cost) && cost >= 0 ? { cost_usd: cost } : {}),
  };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
