import { type TProperties, type TSchema, Type } from 'typebox';
import { dateTime, label, nullable, oneOf, unboundedText, uuid } from '../contract/scalars.ts';

/** The path prefix of the routes of one workspace; the parameter is its ID. */
export const WORKSPACE = '/api/portal/workspaces/:workspace';

/** The default and the maximum number of items in a page. */
export const PAGE_ITEMS_DEFAULT = 50;
export const PAGE_ITEMS_MAX = 200;

/** A query parameter that is a whole number of at most 16 digits. */
export const wholeNumberText = (description: string) =>
  Type.Unsafe<string>({ type: 'string', pattern: '^(0|[1-9]\\d{0,15})$', 'x-means': 'be a whole number', description });

/** A query parameter that is a number from 0 to 100, with at most 6 decimals. */
export const percentText = (description: string) =>
  Type.Unsafe<string>({
    type: 'string',
    pattern: '^(100(\\.0{1,6})?|\\d{1,2}(\\.\\d{1,6})?)$',
    'x-means': 'be a number from 0 to 100',
    description,
  });

/** The maximum length of a cursor. A cursor may contain the longest name in base64, with four bytes for each character. */
const CURSOR_LENGTH_MAX = 4096;

/** The position at which a page of a list starts. */
export const cursorText = () =>
  Type.Unsafe<string>({
    type: 'string',
    minLength: 1,
    maxLength: CURSOR_LENGTH_MAX,
    description: 'The `next` of the previous page. It is opaque. Send it with the same filters.',
  });

/** The query of a list: its filters, a position and a limit. A missing filter matches everything, unless it has a default. */
export const pageQuery = <P extends TProperties>(filters: P) =>
  Type.Object(
    {
      cursor: Type.Optional(cursorText()),
      limit: Type.Optional(
        Type.Unsafe<string>({
          type: 'string',
          pattern: '^([1-9]\\d?|1\\d\\d|200)$',
          'x-means': `be a whole number from 1 to ${PAGE_ITEMS_MAX}`,
          description: `The maximum number of items; default ${PAGE_ITEMS_DEFAULT}.`,
        }),
      ),
      ...filters,
    },
    { additionalProperties: false },
  );

/** One page of a list. */
export const page = <T extends TSchema>(item: T) =>
  Type.Object({
    items: Type.Array(item, { description: 'The items, in the order that the summary of the route says.' }),
    next: nullable(unboundedText({ description: 'The `cursor` of the next page; null on the last one.' })),
  });

/** The optional filters that several lists share. */
export const filter = {
  agent: () => Type.Optional(uuid({ description: 'Only this agent.' })),
  from: () => Type.Optional(dateTime({ description: 'At or after this time.' })),
  to: () => Type.Optional(dateTime({ description: 'Before this time.' })),
  oneOf: <const V extends readonly string[]>(values: V, description: string) => Type.Optional(oneOf(values, { description })),
  label: (description: string) => Type.Optional(label({ description })),
  uuid: (description: string) => Type.Optional(uuid({ description })),
} as const;

/** A response with the ID of a new record. */
export const CreatedRecord = Type.Object({ id: uuid({ description: 'ID of the new record.' }) });
