import { type TSchema, Type } from 'typebox';

/**
 * The scalar types of all schemas with their bounds and formats (docs/api.md). `x-means` completes the sentence "<member> must ..."
 * in an issue's message. `x-pattern` replaces `format` in the OpenAPI document.
 */

/** The maximum length of an identifier or label, in code points. */
export const LABEL_LENGTH_MAX = 512;
/** The maximum length of free text, in code points. */
export const TEXT_LENGTH_MAX = 65_536;
/** The largest whole number that all JSON readers agree on (RFC 8259, section 6). */
export const INTEGER_MAX = Number.MAX_SAFE_INTEGER;

/** The documentation of a field. */
export interface FieldNotes {
  description: string;
  examples?: unknown[];
  default?: unknown;
}

// With the `u` flag a surrogate in a class matches only lone surrogates. C1 and DEL are control characters too.
const LABEL_PATTERN = '^[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]*$';

/** A name, identifier or label: 1 to 512 code points, no control characters, no lone surrogates. */
export const label = (notes: FieldNotes) =>
  Type.Unsafe<string>({
    type: 'string',
    minLength: 1,
    maxLength: LABEL_LENGTH_MAX,
    pattern: LABEL_PATTERN,
    'x-means': 'not contain control characters or lone surrogates',
    ...notes,
  });

/** The name of an agent that may be new. The rules for new names are checked at registration. */
export const registeringName = () =>
  label({
    description:
      'Name of the agent; an unknown agent is registered. A new name must be in Unicode NFC, without white space at its ends and without ' +
      'invisible characters.',
    examples: ['support-bot'],
  });

/** A label that is one of a closed list. */
export const oneOf = <const T extends readonly string[]>(values: T, notes: FieldNotes) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: values, ...notes });

/** Free text for people: up to 65,536 code points, any characters, empty allowed. */
export const text = (notes: FieldNotes) => Type.Unsafe<string>({ type: 'string', maxLength: TEXT_LENGTH_MAX, ...notes });

/** Text without its own limit; the limit of the body applies. */
export const unboundedText = (notes: FieldNotes) => Type.Unsafe<string>({ type: 'string', ...notes });

/** A UUID in its 36-character form, either case. */
export const uuid = (notes: FieldNotes) => Type.Unsafe<string>({ type: 'string', format: 'uuid', ...notes });

/** A date-time of RFC 3339. If it has no offset, it is read as UTC. */
export const dateTime = (notes: FieldNotes) =>
  Type.Unsafe<string>({ type: 'string', format: 'date-time', examples: ['2026-11-20T09:30:00.123Z'], ...notes });

/**
 * The pattern of `sentDateTime` in the OpenAPI document. The validator also rejects days and leap seconds that cannot exist,
 * and instants outside the years 1 to 9999 in UTC.
 */
const SENT_DATE_TIME =
  '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])[Tt]([01]\\d|2[0-3]):[0-5]\\d:([0-5]\\d|60)(\\.\\d{1,9})?([Zz]|[+-]([01]\\d|2[0-3]):[0-5]\\d)?$';

/** A date-time in a request. The offset is optional, unlike in `format: date-time`. */
export const sentDateTime = ({ description, ...notes }: FieldNotes) =>
  Type.Unsafe<string>({
    ...dateTime({
      ...notes,
      description: `${description} RFC 3339 with up to 9 fraction digits, in the years 1 to 9999 in UTC; without an offset it is UTC.`,
    }),
    'x-pattern': SENT_DATE_TIME,
  });

/** A calendar date that exists, `YYYY-MM-DD`. */
export const calendarDate = (notes: FieldNotes) =>
  Type.Unsafe<string>({ type: 'string', format: 'date', pattern: '^\\d{4}-\\d{2}-\\d{2}$', ...notes });

/** The caller's own user identifier: a label that contains no email address and is not a telephone number. */
export const opaqueUserId = (notes: FieldNotes) =>
  Type.Unsafe<string>({
    ...label(notes),
    format: 'opaque-user-id',
    'x-means': 'not contain control characters or lone surrogates',
  });

/** The form of a digest: an algorithm, named as in in-toto, and lower-case hex. Tags and branches can move, so they do not match. */
export const DIGEST_PATTERN = '^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}|gitCommit:([0-9a-f]{40}|[0-9a-f]{64}))$';

/** A digest of content, `sha256:…`, `sha512:…` or `gitCommit:…`. */
export const digest = ({ description, ...notes }: FieldNotes) =>
  Type.Unsafe<string>({
    type: 'string',
    format: 'digest',
    'x-pattern': DIGEST_PATTERN,
    description: `${description} \`sha256:<64 hex>\`, \`sha512:<128 hex>\` or \`gitCommit:<40 or 64 hex>\`, in lower case.`,
    ...notes,
  });

/** The form of a SHA-256: 64 lower-case hex digits. */
export const SHA256_PATTERN = '^[0-9a-f]{64}$';

/** A SHA-256, in hex. */
export const sha256Hex = (notes: FieldNotes) =>
  Type.Unsafe<string>({ type: 'string', format: 'sha256', 'x-pattern': SHA256_PATTERN, ...notes });

/** The maximum length of a URL, in code points. Common browsers and proxies support it. */
const URL_LENGTH_MAX = 2048;

/** The URL of a web page, http or https, without a user name or password. */
export const webAddress = (notes: FieldNotes) =>
  Type.Unsafe<string>({
    type: 'string',
    minLength: 1,
    maxLength: URL_LENGTH_MAX,
    format: 'web-address',
    'x-pattern': '^[Hh][Tt][Tt][Pp][Ss]?://[^\\s@/?#\\\\]+(?:[/?#][^\\s\\\\]*)?$',
    ...notes,
  });

/** A whole number from 0 to 2^53-1; `minimum` and `maximum` replace these bounds. */
export const count = (notes: FieldNotes & { minimum?: number; maximum?: number }) =>
  Type.Unsafe<number>({ type: 'integer', minimum: 0, maximum: INTEGER_MAX, ...notes });

/** A finite number, within the bounds if any are given. */
export const amount = (notes: FieldNotes & { minimum?: number; maximum?: number }) =>
  Type.Unsafe<number>({ type: 'number', ...notes });

/** A percentage, 0 to 100. */
export const percentage = (notes: FieldNotes) => amount({ minimum: 0, maximum: 100, ...notes });

/** A boolean. */
export const flag = (notes: FieldNotes) => Type.Unsafe<boolean>({ type: 'boolean', ...notes });

/** A free-form JSON object. */
export const freeObject = (notes: FieldNotes) => Type.Unsafe<Record<string, unknown>>({ type: 'object', ...notes });

/** Any JSON value. */
export const anything = (notes: FieldNotes) => Type.Unsafe<unknown>({ ...notes });

/** An array of any JSON values. */
export const anyArray = (notes: FieldNotes) => Type.Unsafe<unknown[]>({ type: 'array', ...notes });

/** A list of at most `max` labels. */
export const labels = (max: number, { description, examples }: FieldNotes) =>
  Type.Unsafe<string[]>({
    type: 'array',
    items: label({ description: 'An item of the list.' }),
    maxItems: max,
    description,
    ...(examples === undefined ? {} : { examples }),
  });

/** A member that is an object of a named schema. `x-schema` is that schema: the OpenAPI document and generated types refer to it. */
export const objectOf = <T>(schema: TSchema & { static?: T }, { description }: FieldNotes) => {
  const { $id: _, ...rest } = schema as TSchema & { $id?: string };
  return Type.Unsafe<T>({ ...rest, description, 'x-schema': schema });
};

type JsonSchema = { type?: string | string[]; enum?: readonly unknown[] };

/** An optional member. `null` means the same as leaving the member out, so the schema allows null in the type and in an enumeration. */
export function optional<T>(schema: ReturnType<typeof Type.Unsafe<T>>) {
  return Type.Optional(nullable(schema));
}

/** Allows null in a schema, for example for a member of a response that is always present. */
export function nullable<T>(schema: ReturnType<typeof Type.Unsafe<T>>) {
  const { type, enum: values, ...rest } = schema as unknown as JsonSchema & Record<string, unknown>;
  return Type.Unsafe<T | null>({
    ...(type === undefined ? {} : { type: [...(Array.isArray(type) ? type : [type]), 'null'] }),
    ...(values === undefined ? {} : { enum: [...values, null] }),
    ...rest,
  });
}
