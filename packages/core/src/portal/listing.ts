import { type TProperties, type TSchema, Type } from 'typebox';
import { dateTime, label, nullable, oneOf, unboundedText, uuid } from '../contract/scalars.ts';

/** Where the routes of one workspace begin; the parameter is its id. */
export const WORKSPACE = '/api/portal/workspaces/:workspace';

/** Items of a page when the query names no number, and the most that it may name. */
export const PAGE_ITEMS_DEFAULT = 50;
export const PAGE_ITEMS_MAX = 200;

/** A member of a query string that is a whole number of at most 16 digits. */
export const wholeText = (description: string) =>
  Type.Unsafe<string>({ type: 'string', pattern: '^(0|[1-9]\\d{0,15})$', 'x-means': 'be a whole number', description });

/** A member of a query string that is a number from 0 to 100, with at most 6 decimals. */
export const percentText = (description: string) =>
  Type.Unsafe<string>({
    type: 'string',
    pattern: '^(100(\\.0{1,6})?|\\d{1,2}(\\.\\d{1,6})?)$',
    'x-means': 'be a number from 0 to 100',
    description,
  });

/** Longest cursor: it may hold the longest name, each character of which may be four bytes, in base64. */
const CURSOR_LENGTH_MAX = 4096;

/** Where to go on: what the page before gave as `next`. */
export const cursorText = () =>
  Type.Unsafe<string>({
    type: 'string',
    minLength: 1,
    maxLength: CURSOR_LENGTH_MAX,
    description: 'The `next` of the page before; opaque, and for the same filters only.',
  });

/** The query of a list: its filters, and where to go on. A filter that is left out lets everything through. */
export const pageQuery = <P extends TProperties>(filters: P) =>
  Type.Object(
    {
      cursor: Type.Optional(cursorText()),
      limit: Type.Optional(
        Type.Unsafe<string>({
          type: 'string',
          pattern: '^([1-9]\\d?|1\\d\\d|200)$',
          'x-means': `be a whole number from 1 to ${PAGE_ITEMS_MAX}`,
          description: `Most items of the page; ${PAGE_ITEMS_DEFAULT} when left out.`,
        }),
      ),
      ...filters,
    },
    { additionalProperties: false },
  );

/** One page of a list. */
export const page = <T extends TSchema>(item: T) =>
  Type.Object({
    items: Type.Array(item, { description: 'In the order that the route names.' }),
    next: nullable(unboundedText({ description: 'The `cursor` of the next page; null on the last one.' })),
  });

/** The filters that several lists have, each optional. */
export const filter = {
  agent: () => Type.Optional(uuid({ description: 'Of this agent alone.' })),
  from: () => Type.Optional(dateTime({ description: 'Not before this moment.' })),
  to: () => Type.Optional(dateTime({ description: 'Before this moment.' })),
  oneOf: <const V extends readonly string[]>(values: V, description: string) => Type.Optional(oneOf(values, { description })),
  label: (description: string) => Type.Optional(label({ description })),
  uuid: (description: string) => Type.Optional(uuid({ description })),
} as const;

/** An answer that is a record's identifier. */
export const Made = Type.Object({ id: uuid({ description: 'Identifier of what was made.' }) });
