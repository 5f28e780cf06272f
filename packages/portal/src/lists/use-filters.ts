import { useLocation, useNavigate, useSearch } from '@tanstack/react-router';

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** The cursors of the list pages that were visited before the current one. */
    previousCursors?: readonly string[];
  }
}

/** The filters of a list. They are in the URL, so any view can be shared, and Back from another page restores it. */
export interface Filters<N extends string> {
  values: Partial<Record<N, string>>;
  /** Whether any filter is set. */
  hasValues: boolean;
  /** Sets some filters and returns to the first page. */
  set: (patch: Partial<Record<N, string | undefined>>) => void;
  /** Removes all filters and returns to the first page. */
  clear: () => void;
  /** The cursor of the current page; undefined for the first page. */
  cursor: string | undefined;
  /**
   * The cursors of the pages visited before this one; '' is the first page. They are in the browser's history, so Back and reload
   * keep them. Empty if the page was opened from a shared link.
   */
  previousCursors: readonly string[];
  /** Goes to the page with this cursor and scrolls to its top. */
  goTo: (cursor: string | undefined, previousCursors: readonly string[]) => void;
}

const NO_CURSORS: readonly string[] = [];

/** Reads and writes the filters with these names in the URL. */
export function useFilters<const N extends string>(names: readonly N[]): Filters<N> {
  const search = useSearch({ strict: false }) as Record<string, string | undefined>;
  const previousCursors = useLocation({ select: ({ state }) => state.previousCursors }) ?? NO_CURSORS;
  const navigate = useNavigate();
  const values: Partial<Record<N, string>> = {};
  for (const name of names) {
    const value = search[name];
    if (value !== undefined && value !== '' && isValidFilter(name, value)) values[name] = value;
  }
  const setSearch = (next: Record<string, string | undefined>) =>
    void navigate({ to: '.', search: () => removeEmpty(next) as never, replace: true, resetScroll: false });
  return {
    values,
    hasValues: Object.keys(values).length > 0,
    set: (patch) => setSearch({ ...search, cursor: undefined, ...patch }),
    clear: () => setSearch({ ...search, cursor: undefined, ...Object.fromEntries(names.map((name) => [name, undefined])) }),
    cursor: search.cursor,
    previousCursors,
    goTo: (cursor, previous) =>
      void navigate({
        to: '.',
        search: () => removeEmpty({ ...search, cursor }) as never,
        state: { previousCursors: previous },
      }),
  };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether the value of a filter is valid. Invalid dates, times and IDs in the URL are ignored. */
export function isValidFilter(name: string, value: string): boolean {
  if (name === 'agent_id' || name === 'harness_id') return UUID.test(value);
  if (name === 'from' || name === 'to') return startOfDay(value) !== undefined;
  if (name === 'since' || name === 'before') return !Number.isNaN(Date.parse(value));
  return true;
}

const removeEmpty = (search: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined && value !== ''));

/**
 * The start of the day `daysLater` days after `date` (YYYY-MM-DD), in the reader's time zone, as an ISO time for the API. Undefined if
 * `date` is undefined or invalid.
 */
export function startOfDay(date: string | undefined, daysLater = 0): string | undefined {
  const [year, month, day] =
    /^(\d{4})-(\d\d)-(\d\d)$/
      .exec(date ?? '')
      ?.slice(1)
      .map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return undefined;
  // Date accepts an overflow, such as the 45th of month 13, so the parts are compared.
  const start = new Date(year, month - 1, day);
  if (start.getFullYear() !== year || start.getMonth() !== month - 1 || start.getDate() !== day) return undefined;
  return new Date(year, month - 1, day + daysLater).toISOString();
}
