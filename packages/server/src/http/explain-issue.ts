import type { IssueCode } from '@countersign/core/contract/issue';
import type { ErrorObject } from 'ajv';
import { PERSON_NAME_RULE } from '../people/person-name.ts';

/**
 * Returns the code and the message of the issue for an Ajv error.
 * @param error must come from an Ajv instance with `verbose`, because the message needs `data` and `parentSchema`.
 * @param member the name of the faulty member, for the message.
 */
export function explain(error: ErrorObject, member: string): { code: IssueCode; message: string } {
  const { keyword, params, data, parentSchema } = error;
  const schema = (parentSchema ?? {}) as {
    minimum?: number;
    maximum?: number;
    format?: string;
    uniqueItems?: boolean;
    'x-means'?: string;
  };
  switch (keyword) {
    case 'required':
      return { code: 'required', message: `${member} is required` };
    case 'type':
      return { code: 'wrong_type', message: `${member} must be ${typeNames(params.type)}, got ${typeName(data)}` };
    case 'enum':
      return {
        code: 'not_one_of',
        message: `${member} must be one of ${allowedValues(params.allowedValues)}, got ${valueText(data)}`,
      };
    case 'minimum':
    case 'maximum':
      return {
        code: keyword === 'minimum' ? 'too_small' : 'too_large',
        message: `${member} must be ${bounds(schema)}, got ${valueText(data)}`,
      };
    case 'minLength':
      return {
        code: 'too_short',
        message: params.limit === 1 ? `${member} must not be empty` : `${member} must have at least ${params.limit} characters`,
      };
    case 'maxLength':
      return {
        code: 'too_long',
        message: `${member} must have at most ${params.limit} characters, got ${countCodePoints(String(data))}`,
      };
    case 'minItems':
      return { code: 'too_few_items', message: `${member} must have at least ${params.limit} item, got ${lengthOf(data)}` };
    case 'maxItems': {
      const remedy = schema.uniqueItems === true ? '' : '; send several requests';
      return {
        code: 'too_many_items',
        message: `${member} must have at most ${params.limit} items, got ${lengthOf(data)}${remedy}`,
      };
    }
    case 'uniqueItems':
      return {
        code: 'repeated_item',
        message: `${member} must not contain the same item twice, got ${valueText((data as unknown[])[params.i])} again`,
      };
    case 'pattern':
      return { code: 'bad_characters', message: `${member} must ${schema['x-means'] ?? 'contain other characters'}` };
    case 'format':
      return formatIssue(member, schema.format);
    default:
      return { code: 'wrong_type', message: `${member} ${error.message ?? 'is wrong'}` };
  }
}

/** The issue for an unknown member. The message suggests the known member with the most similar name, if a name is similar enough. */
export const unknownMember = (member: string, knownMembers: readonly string[]): { code: IssueCode; message: string } => ({
  code: 'unknown_member',
  message: `${valueText(member)} is not a member of this object${didYouMean(member, knownMembers)}`,
});

const FORMAT_REMEDIES: Record<string, string> = {
  uuid: 'must be a UUID in its 36-character form, for example 0198f1c2-7d3e-7a41-9b1e-3f2a5c6d7e8f',
  'date-time': 'must be an RFC 3339 date-time that exists, in the years 1 to 9999 in UTC, for example 2026-11-20T09:30:00.123Z',
  'person-name': `must be ${PERSON_NAME_RULE}`,
  email: 'must be an email address, for example ada@example.com',
  password: 'must be valid Unicode text of at most 1024 bytes',
  digest:
    'must be a digest, sha256:<64 hex>, sha512:<128 hex> or gitCommit:<40 or 64 hex>, in lower case; tags and branches are rejected, because they can be moved',
  sha256: 'must be a SHA-256 as 64 lower-case hex digits',
  'web-address': 'must be an http or https URL without a user name or password, for example https://ci.example.com/runs/7',
  date: 'must be a date that exists, for example 2033-12-31',
};

function formatIssue(member: string, format: string | undefined): { code: IssueCode; message: string } {
  if (format === 'opaque-user-id') {
    return {
      code: 'personal_data',
      message: `${member} must not contain an email address or be a telephone number; send your own opaque identifier`,
    };
  }
  return { code: 'bad_format', message: `${member} ${FORMAT_REMEDIES[format ?? ''] ?? 'has the wrong form'}` };
}

/** For example "a string or an object". The type null is left out, because null means the same as an absent member. */
function typeNames(types: string | string[]): string {
  const names = (Array.isArray(types) ? types : [types]).filter((type) => type !== 'null');
  return names.map((type) => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`)).join(' or ');
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number' && !Number.isFinite(value)) return 'a number outside the range of a double';
  return typeof value === 'object' ? 'an object' : typeof value === 'number' ? valueText(value) : `a ${typeof value}`;
}

function bounds({ minimum, maximum }: { minimum?: number; maximum?: number }): string {
  if (minimum !== undefined && maximum !== undefined) return `between ${minimum} and ${maximum}`;
  return minimum === undefined ? `at most ${maximum}` : `at least ${minimum}`;
}

const allowedValues = (values: readonly unknown[]): string => values.filter((value) => value !== null).join(', ');

/** The JSON text of a value for a message, cut to 60 characters. */
function valueText(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${[...text.slice(0, 120)].slice(0, 57).join('')}...` : text;
}

/** Counts the code points of a text without building a list, because the text may have megabytes. */
function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);

/** Suggests the known member with the most similar name; empty if no name is similar enough. */
function didYouMean(member: string, knownMembers: readonly string[]): string {
  if (member.length > 64) return '';
  const [nearest] = knownMembers
    .map((name) => ({ name, distance: editDistance(member.toLowerCase(), name) }))
    .sort((left, right) => left.distance - right.distance);
  return nearest !== undefined && nearest.distance <= Math.max(2, member.length / 3) ? `; did you mean ${nearest.name}?` : '';
}

/** The Levenshtein distance, computed row by row. */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (left[i - 1] === right[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[right.length]!;
}
