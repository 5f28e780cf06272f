import { isDateTime } from '@countersign/core/domain/instant';
import { PAGE_ITEMS_DEFAULT } from '@countersign/core/portal/listing';
import { validationFailed } from '../errors/api-error.ts';

/** The largest value of PostgreSQL's type integer. */
const INT4_MAX = 0x7fff_ffff;
/**
 * The form of times in cursors (storage/portal/fragments.ts, `instantKey`). Leap seconds are excluded, because PostgreSQL rejects their
 * fractions.
 */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d\.\d{6}Z$/;

/** The forms of the parts of a cursor. They are checked, because clients can change a cursor. */
const FORMS = {
  uuid: (part: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(part),
  wholeNumber: (part: string) => /^(0|[1-9]\d{0,14})$/.test(part),
  ordinal: (part: string) => /^(0|[1-9]\d{0,9})$/.test(part) && Number(part) <= INT4_MAX,
  /** The next number must be a valid integer of PostgreSQL too. */
  submissionNumber: (part: string) => /^(0|[1-9]\d{0,9})$/.test(part) && Number(part) < INT4_MAX,
  instant: (part: string) => INSTANT.test(part) && isDateTime(part),
  label: (part: string) => part.isWellFormed() && !/\p{Cc}/u.test(part),
} as const;

/** Writes the position of a page's end in a form that clients must not interpret. */
const writeCursor = (parts: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(parts.map(String))).toString('base64url');

/** Reads the position of the previous page's end; null for the first page. Throws a 422 for a malformed cursor. */
export function readCursor<const F extends readonly (keyof typeof FORMS)[]>(
  cursor: string | undefined,
  forms: F,
): { [Index in keyof F]: string } | null {
  if (cursor === undefined) return null;
  const parts = parseCursor(cursor);
  const isValid =
    Array.isArray(parts) &&
    parts.length === forms.length &&
    parts.every((part, index) => typeof part === 'string' && FORMS[forms[index]!](part));
  if (!isValid)
    throw validationFailed({ path: '/cursor', code: 'bad_query', message: 'cursor must be the `next` of the previous page' });
  return parts as { [Index in keyof F]: string };
}

function parseCursor(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}

/**
 * Reads one page of a list, and one more row, which shows whether there is a next page.
 * @param read returns at most `limit` rows after the cursor.
 * @param positionOf returns the parts of the cursor for the rows after a row.
 * @param isLeftOut whether the page ends before this row even if the page is not full. Must be false for the first row.
 */
export async function pageOf<Row>(
  { limit }: { limit?: string | undefined },
  read: (limit: number) => Promise<Row[]>,
  positionOf: (row: Row) => readonly (string | number)[],
  isLeftOut: (row: Row) => boolean = () => false,
): Promise<{ items: Row[]; next: string | null }> {
  const itemsMax = limit === undefined ? PAGE_ITEMS_DEFAULT : Number(limit);
  const rows = await read(itemsMax + 1);
  const end = rows.findIndex(isLeftOut);
  const items = rows.slice(0, end === -1 ? itemsMax : Math.min(end, itemsMax));
  const last = items.at(-1);
  return { items, next: rows.length > items.length && last !== undefined ? writeCursor(positionOf(last)) : null };
}

/** Writes the cursor that follows a page, for pages that may be empty. `pageOf` makes its cursor from the last row of a page. */
export const cursorAfter = writeCursor;
