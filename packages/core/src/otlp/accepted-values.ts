import { LABEL_LENGTH_MAX, TEXT_LENGTH_MAX } from '../contract/scalars.ts';
import { hasNameProblem } from '../domain/agent-name.ts';
import type { Field } from './conventions/convention.ts';
import { textOf } from './conventions/messages.ts';
import type { Value } from './records.ts';

/** The largest number of tokens of one kind in one step. Sums of both kinds over up to 4,500 such steps stay exact. */
const TOKENS_MAX = 1e12;
/** The highest cost of one step in US dollars. */
const COST_USD_MAX = 1e9;

const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;

/** A text as a label; undefined if it is empty or too long, has control characters or lone surrogates, or if the value is not a text. */
export function labelOf(value: Value | undefined): string | undefined {
  if (typeof value !== 'string' || value === '' || CONTROL_CHARACTER.test(value) || !value.isWellFormed()) return undefined;
  return value.length > LABEL_LENGTH_MAX && [...value].length > LABEL_LENGTH_MAX ? undefined : value;
}

/** A value as the name of a new agent; undefined if the contract rejects it. */
export function agentNameOf(value: Value | undefined): string | undefined {
  const name = labelOf(value);
  return name === undefined || hasNameProblem(name) ? undefined : name;
}

/** A number of tokens: a whole number from 0 to TOKENS_MAX, or a text of up to 12 digits; undefined for any other value. */
export function tokensOf(value: Value | undefined): number | undefined {
  const tokens = typeof value === 'string' && /^\d{1,12}$/.test(value) ? Number(value) : value;
  return typeof tokens === 'number' && Number.isInteger(tokens) && tokens >= 0 && tokens <= TOKENS_MAX ? tokens : undefined;
}

/** An amount in US dollars from 0 to COST_USD_MAX, as a number or as decimal text; undefined for any other value. */
export function costOf(value: Value | undefined): number | undefined {
  const cost = typeof value === 'string' && /^\d{1,9}(\.\d{1,20})?$/.test(value) ? Number(value) : value;
  return typeof cost === 'number' && Number.isFinite(cost) && cost >= 0 && cost <= COST_USD_MAX ? cost : undefined;
}

/** A value as the text of an error, cut to at most the contract's maximum length; undefined if it is absent, null or empty. */
export function errorOf(value: Value | undefined): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const text = textOf(value).toWellFormed();
  return text.length <= TEXT_LENGTH_MAX ? text : text.slice(0, TEXT_LENGTH_MAX).toWellFormed();
}

const nonEmptyValue = (value: Value | undefined): Value | undefined => (value === null || value === '' ? undefined : value);

/** The conversion of values for each field. It returns undefined if the field rejects the value. */
export const FIELD_CONVERSIONS: Readonly<Record<Field, (value: Value | undefined) => Value | undefined>> = {
  name: labelOf,
  model: labelOf,
  provider: labelOf,
  prompt_tokens: tokensOf,
  completion_tokens: tokensOf,
  total_tokens: tokensOf,
  cost_usd: costOf,
  input: nonEmptyValue,
  output: nonEmptyValue,
  tool_arguments: nonEmptyValue,
  tool_result: nonEmptyValue,
  agent_name: agentNameOf,
  session_id: labelOf,
  external_user_id: labelOf,
};
