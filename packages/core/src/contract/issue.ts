import { type Static, Type } from 'typebox';
import { label, text } from './scalars.ts';

/** The codes of issues; a test compares docs/errors.md with this table. */
export const ISSUE_CODES = {
  required: 'A required member is absent.',
  wrong_type: 'The value has another JSON type than the contract asks for.',
  not_one_of: 'The value is not in the closed list of the member.',
  too_small: 'The number is below the minimum.',
  too_large: 'The number is above the maximum.',
  too_short: 'The string is empty, or shorter than it must be.',
  too_long: 'The string has more code points than it may have.',
  too_few_items: 'The list has fewer items than it must have.',
  too_many_items: 'The list has more items than it may have.',
  bad_characters: 'The string holds characters it must not hold (control characters, lone surrogates).',
  not_normalized: 'The name is not in Unicode Normalization Form C.',
  white_space_at_end: 'The name begins or ends with white space.',
  invisible_character: 'The name holds characters that are not seen: zero-width, bidirectional controls, tags and the like.',
  bad_format: 'The string does not have the form of the member (uuid, date-time, date, digest, URL).',
  personal_data: 'The user identifier is an e-mail address or a telephone number.',
  unknown_member: 'The contract does not name this member, and this endpoint ignores nothing.',
  contradiction: 'Two members of the body contradict each other.',
  in_the_future: 'The moment lies further in the future than clocks may differ.',
  repeated_member: 'A member is given twice in one object.',
  inexact_number: 'The number cannot be held exactly by JSON numbers (IEEE 754 double).',
  lone_surrogate: 'A string or member name holds half of a surrogate pair.',
  too_deep: 'The body is nested more deeply than it may be.',
  too_many_values: 'The body holds more JSON values than it may; the message names the limit.',
  too_many_names: 'The body holds more different member names than it may; the message names the limit.',
  not_json: 'The body is not JSON in UTF-8.',
  not_otlp: 'The body is not OTLP, or holds more than it may; the message says where and what to do.',
  repeated_span_id: 'A span_id stands twice in one request.',
  unknown_agent: 'The agent_id is not registered in this workspace, and no agent_name came with it.',
  agent_mismatch: 'The agent is another than the one already known by this id, name or trace_id.',
  agent_missing: 'Neither agent_id nor agent_name is given.',
  sum_too_large: 'A sum of tokens or cost is beyond 2^53-1.',
  bad_header: 'A request header does not have the form it must have.',
  bad_query: 'A query parameter is missing, or has not the form it must have.',
  other_body: 'The Idempotency-Key was used with another body within the last 24 hours.',
  missing_scope: 'The key does not have the scope that this endpoint needs.',
  size_limit: 'The body is larger than the limit of this endpoint, in bytes.',
  disk_space: 'The disk of the service is nearly full: new records are refused until there is space.',
  refused: 'The rules or the state of the workspace refuse the act; the message says why and what would help.',
  log_rewritten: 'The stored log is not the one that was signed before; somebody has changed it in the database.',
  evidence_broken: 'A stored row differs from the log of evidence; somebody else than the server has changed the database.',
  seal_broken: 'A stored row is not the one that the server has written; somebody has changed it in the database.',
  clock_unsafe: 'The clocks of the service cannot be relied on now; the message says which and what to do.',
  media_type: 'The body has a media type that the endpoint does not take, or its content encoding is not supported.',
} as const;
export type IssueCode = keyof typeof ISSUE_CODES;

/** One error and its place. */
export const Issue = Type.Object(
  {
    path: Type.Unsafe<string>({
      type: 'string',
      description: 'JSON Pointer (RFC 6901) to the place in the body; empty for the whole of it.',
      examples: ['/spans/3/kind'],
    }),
    code: label({ description: 'Stable code.', examples: ['not_one_of'] }),
    message: text({ description: 'The place and the remedy, for a person.' }),
  },
  { $id: 'Issue' },
);
export interface Issue extends Static<typeof Issue> {
  code: IssueCode;
}
