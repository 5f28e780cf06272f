import { type Static, Type } from 'typebox';
import { label, text } from './scalars.ts';

/** The codes of issues and their meanings. A test compares docs/errors.md with this table. */
export const ISSUE_CODES = {
  required: 'A required member is absent.',
  wrong_type: 'The value has the wrong JSON type.',
  not_one_of: 'The value is not one of the allowed values.',
  too_small: 'The number is below the minimum.',
  too_large: 'The number is above the maximum.',
  too_short: 'The string is shorter than the minimum.',
  too_long: 'The string has more code points than the maximum.',
  too_few_items: 'The list has fewer items than the minimum.',
  too_many_items: 'The list has more items than the maximum.',
  repeated_item: 'The list has the same item twice.',
  bad_characters: 'The string contains characters that are not allowed, such as control characters or lone surrogates.',
  not_normalized: 'The name is not in Unicode Normalization Form C.',
  white_space_at_end: 'The name begins or ends with white space.',
  invisible_character: 'The name contains invisible characters, such as zero-width characters, bidirectional controls or tags.',
  bad_format: 'The string does not have the form that the member requires (uuid, date-time, date, digest, URL).',
  personal_data: 'The user identifier contains an email address or is a telephone number.',
  unknown_member: 'The contract does not define this member, and the endpoint does not ignore unknown members.',
  contradiction: 'Two members of the body contradict each other.',
  in_the_future: 'The time is further in the future than the tolerated difference between clocks.',
  repeated_member: 'An object has the same member twice.',
  inexact_number: 'The number is not exact: canonical JSON would change its value or its sign (docs/formats.md).',
  lone_surrogate: 'A string or a member name contains half of a surrogate pair.',
  too_deep: 'The body is nested more deeply than the maximum.',
  too_many_values: 'The body contains too many JSON values. The message gives the limit.',
  too_many_names: 'The body contains too many different member names. The message gives the limit.',
  not_json: 'The body is not JSON in UTF-8, or cannot be decompressed.',
  not_otlp: 'The body is not valid OTLP, or it exceeds a limit. The message gives the place and the remedy.',
  repeated_span_id: 'A request contains the same span_id twice.',
  unknown_agent: 'The agent_id is not registered in this workspace, and the record has no agent_name.',
  agent_mismatch: 'The agent_id, agent_name or trace_id belongs to another agent.',
  agent_missing: 'The promotion check has neither agent_id nor agent_name.',
  sum_too_large: 'A sum of tokens or costs is larger than 2^53-1.',
  bad_header: 'A request header has the wrong form.',
  bad_query: 'A query parameter is missing, unknown or has the wrong form.',
  other_body: 'In the last 24 hours, an accepted request used this `Idempotency-Key` with another body.',
  missing_scope: 'The key does not have the scope that this endpoint needs.',
  size_limit:
    'The body has more bytes than this endpoint accepts, or is larger than 1 MiB and more than 300 times its compressed size.',
  disk_space: "The server's disk is nearly full. New records are rejected until there is space.",
  refused: 'The rules or the state of the workspace do not allow the action. The message gives the reason and the remedy.',
  log_rewritten: 'The stored log differs from what the server signed earlier, or a stored document was changed in the database.',
  evidence_broken: 'A stored row differs from the evidence log: it was changed in the database, but not by the server.',
  seal_broken: 'A stored row differs from what the server wrote, or is missing: the database was changed, but not by the server.',
  clock_unsafe:
    "The server's or the database's clock is wrong, or was wrong a moment ago. The message gives the fault and the remedy.",
  media_type: 'The endpoint does not accept the media type, the charset or the content encoding of the body.',
} as const;
export type IssueCode = keyof typeof ISSUE_CODES;

/** One error in a request. */
export const Issue = Type.Object(
  {
    path: Type.Unsafe<string>({
      type: 'string',
      description:
        'JSON Pointer (RFC 6901) to the place in the body; empty if the error is elsewhere or concerns the whole body.',
      examples: ['/spans/3/kind'],
    }),
    code: label({ description: 'Stable code.', examples: ['not_one_of'] }),
    message: text({ description: 'What is wrong, where, and the remedy, for a person.' }),
  },
  { $id: 'Issue', description: 'One error in a request.' },
);
export interface Issue extends Static<typeof Issue> {
  code: IssueCode;
}
