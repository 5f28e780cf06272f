import type { SealedValue } from '@countersign/core/domain/row-seal';

/**
 * A sealed column. An `instant` is a timestamptz that is read as text, in UTC with microseconds. A `plain` value is read as the driver
 * returns it: text, bytes or null.
 */
export interface SealedColumn<R> {
  field: keyof R & string;
  column: string;
  kind: 'plain' | 'instant';
}

/** A table with sealed rows. `R` has a field for each sealed column. */
export interface SealedTable<R> {
  readonly name: string;
  /** The version of the list of columns. A changed list needs a new version. */
  readonly version: number;
  /**
   * The sealed columns, the primary key first. In tables of tenants, the ID of the tenant is left out, because the seal covers this ID
   * separately.
   */
  readonly columns: readonly SealedColumn<R>[];
  /** The fields that identify a row in the log of the server. They must not include the hash of a token. */
  readonly identifyingFields: readonly (keyof R & string)[];
}

/** A row of a statement that selects `sealedColumns`. */
export type RawRow = Readonly<Record<string, unknown>>;

/** The name of a column in a raw row. */
export const rawName = <R>({ name }: SealedTable<R>, field: (keyof R & string) | 'seal'): string => `${name}.${field}`;

/** SQL for all sealed columns and the seal. @param alias the alias of the table in the statement. */
export const sealedColumns = <R>(table: SealedTable<R>, alias: string): string =>
  [
    ...table.columns.map(({ field, column, kind }) => `${sqlOf(kind, `${alias}.${column}`)} AS "${rawName(table, field)}"`),
    `${alias}.seal AS "${rawName(table, 'seal')}"`,
  ].join(', ');

const sqlOf = (kind: SealedColumn<unknown>['kind'], column: string): string =>
  kind === 'plain' ? column : `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** The sealed values of a row, in the order of the table's columns. */
export const sealedValues = <R>({ columns }: SealedTable<R>, row: R): SealedValue[] =>
  columns.map(({ field }) => row[field] as SealedValue);

/** The form of a time in sealed columns: UTC with microseconds, `2026-11-20T09:30:00.123000Z`. */
export const sealedInstant = (moment: Date): string => moment.toISOString().replace('Z', '000Z');

/** The displayed form of a sealed time: with milliseconds, `2026-11-20T09:30:00.123Z`. */
export const shownInstant = (sealed: string): string => `${sealed.slice(0, 23)}Z`;

/**
 * Returns `now` in the sealed form. If the clock was set back, so that `now` is not later than `before`, returns the time one millisecond
 * after `before`.
 */
export function sealedInstantAfter(before: string | null, now: Date): string {
  const at = sealedInstant(now);
  if (before === null || at > before) return at;
  return sealedInstant(new Date(Date.parse(shownInstant(before)) + 1));
}
