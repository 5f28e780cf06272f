import { useLocation, useNavigate, useSearch } from '@tanstack/react-router';

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Where the pages of a list began that were gone through to the one of the address. */
    previousCursors?: readonly string[];
  }
}

/** The filters of a list, kept in the address bar: a link shows the same list to somebody else, and Back goes back. */
export interface Filters<N extends string> {
  values: Partial<Record<N, string>>;
  /** Whether any of them is set. */
  any: boolean;
  /** Sets some of them, and begins at the first page. */
  set: (patch: Partial<Record<N, string | undefined>>) => void;
  clear: () => void;
  /** Where the page of the list begins; undefined for the first one. */
  cursor: string | undefined;
  /**
   * Where the pages began that were gone through to this one, the first one with ''. Kept in the browser's history beside the address:
   * it goes back with Back, and stays over a reload. Empty where a link led here.
   */
  previousCursors: readonly string[];
  /** Goes to the page that begins there, at its top. */
  goTo: (cursor: string | undefined, previousCursors: readonly string[]) => void;
}

const NONE: readonly string[] = [];

/** Reads and writes the filters of these names in the address bar. */
export function useFilters<const N extends string>(names: readonly N[]): Filters<N> {
  const search = useSearch({ strict: false }) as Record<string, string | undefined>;
  const previousCursors = useLocation({ select: ({ state }) => state.previousCursors }) ?? NONE;
  const navigate = useNavigate();
  const values: Partial<Record<N, string>> = {};
  for (const name of names) {
    const value = search[name];
    if (value !== undefined && value !== '' && isValidFilter(name, value)) values[name] = value;
  }
  const filter = (next: Record<string, string | undefined>) =>
    void navigate({ to: '.', search: () => withoutEmpty(next) as never, replace: true, resetScroll: false });
  return {
    values,
    any: Object.keys(values).length > 0,
    set: (patch) => filter({ ...search, cursor: undefined, ...patch }),
    clear: () => filter({ ...search, cursor: undefined, ...Object.fromEntries(names.map((name) => [name, undefined])) }),
    cursor: search.cursor,
    previousCursors,
    goTo: (cursor, before) =>
      void navigate({ to: '.', search: () => withoutEmpty({ ...search, cursor }) as never, state: { previousCursors: before } }),
  };
}

/** A day or a moment that there is not, from an address that was typed or cut off, filters nothing. */
function isValidFilter(name: string, value: string): boolean {
  if (name === 'from' || name === 'to') return startOfDay(value) !== undefined;
  if (name === 'since' || name === 'before') return !Number.isNaN(Date.parse(value));
  return true;
}

const withoutEmpty = (search: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined && value !== ''));

/** The first moment of a day of the reader's calendar, as the API takes it; `after` counts days on. Undefined for a day that there is not. */
export function startOfDay(date: string | undefined, after = 0): string | undefined {
  const [year, month, day] =
    /^(\d{4})-(\d\d)-(\d\d)$/
      .exec(date ?? '')
      ?.slice(1)
      .map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return undefined;
  // The calendar rolls over what is too much: the 45th of a thirteenth month is a day of next February.
  const start = new Date(year, month - 1, day);
  if (start.getFullYear() !== year || start.getMonth() !== month - 1 || start.getDate() !== day) return undefined;
  return new Date(year, month - 1, day + after).toISOString();
}
