import { useNavigate, useSearch } from '@tanstack/react-router';

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
  /** Goes on to the page that begins there. */
  goTo: (cursor: string | undefined) => void;
}

/** Reads and writes the filters of these names in the address bar. */
export function useFilters<const N extends string>(names: readonly N[]): Filters<N> {
  const search = useSearch({ strict: false }) as Record<string, string | undefined>;
  const navigate = useNavigate();
  const values: Partial<Record<N, string>> = {};
  for (const name of names) {
    const value = search[name];
    if (value !== undefined && value !== '') values[name] = value;
  }
  const go = (next: Record<string, string | undefined>, replace: boolean) =>
    void navigate({ to: '.', search: () => withoutEmpty(next) as never, replace, resetScroll: false });
  return {
    values,
    any: Object.keys(values).length > 0,
    set: (patch) => go({ ...search, cursor: undefined, ...patch }, true),
    clear: () => go({ ...search, cursor: undefined, ...Object.fromEntries(names.map((name) => [name, undefined])) }, true),
    cursor: search.cursor,
    goTo: (cursor) => go({ ...search, cursor }, false),
  };
}

const withoutEmpty = (search: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined && value !== ''));

/** The first moment of a day of the reader's calendar, as the API takes it; `after` counts days on. */
export function startOfDay(date: string | undefined, after = 0): string | undefined {
  const [year, month, day] =
    /^(\d{4})-(\d\d)-(\d\d)$/
      .exec(date ?? '')
      ?.slice(1)
      .map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return undefined;
  return new Date(year, month - 1, day + after).toISOString();
}
