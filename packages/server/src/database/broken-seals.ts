import { ApiError } from '../errors/api-error.ts';

/** A row whose seal does not hold. */
export interface BrokenSeal {
  table: string;
  /** Undefined in tables that belong to no tenant. */
  tenantId: string | undefined;
  /** What names the row in its table. No secret, nor the hash of one. */
  key: Readonly<Record<string, string>>;
}

/** Rows that are remembered, so that each is logged once. Beyond, all are forgotten. */
const ROWS_MAX = 1_000;

/** Longest part of a row's name that is logged: whoever plants a row chooses it. */
const NAME_LENGTH_MAX = 200;

/** Tables whose rows are named to everybody. Of others only the number of rows is told: they belong to tenants and people. */
const PUBLIC_TABLES = new Set(['signing_keys']);

/** The rows of one database whose seals did not hold when this process read them. */
export class BrokenSeals {
  readonly #counts = new Map<string, number>();
  readonly #rows = new Map<string, BrokenSeal>();
  readonly #listeners: ((broken: BrokenSeal) => void)[] = [];

  /** How often a seal did not hold, by table. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Calls back for each row, the first time that it is met. */
  listen(listener: (broken: BrokenSeal) => void): void {
    for (const broken of this.#rows.values()) listener(broken);
    this.#listeners.push(listener);
  }

  /** Takes in that the seal of a row did not hold. */
  report({ table, tenantId, key }: BrokenSeal): void {
    this.#counts.set(table, (this.#counts.get(table) ?? 0) + 1);
    const named = Object.fromEntries(Object.entries(key).map(([name, value]) => [name, value.slice(0, NAME_LENGTH_MAX)]));
    const broken = { table, tenantId, key: named };
    const id = JSON.stringify([table, tenantId, named]);
    if (this.#rows.has(id)) return;
    if (this.#rows.size >= ROWS_MAX) this.#rows.clear();
    this.#rows.set(id, broken);
    for (const listener of this.#listeners) listener(broken);
  }

  /** One line for `/readyz`; undefined when every seal held since the start. */
  get summary(): string | undefined {
    if (this.#counts.size === 0) return undefined;
    const tables = [...this.#counts.keys()].sort().map((table) => this.#describe(table));
    return `rows were changed in the database by somebody else than the server, and are not believed: ${tables.join(', ')}; the log names them`;
  }

  #describe(table: string): string {
    const rows = [...this.#rows.values()].filter((row) => row.table === table);
    if (PUBLIC_TABLES.has(table)) return `${table} (${rows.map(({ key }) => Object.values(key).join(' ')).join(', ')})`;
    return rows.length < 2 ? table : `${table} (${rows.length} rows)`;
  }
}

/** One line that names a row. */
export const describeBroken = ({ table, tenantId, key }: BrokenSeal): string =>
  `the seal of a row of ${table} does not hold (${Object.entries({
    ...(tenantId === undefined ? {} : { tenant: tenantId }),
    ...key,
  })
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    .join(', ')}): somebody else than the server has changed it`;

/** A request relies on a row whose seal does not hold. Nothing is done on its word. */
export class BrokenSealError extends ApiError {
  override name = 'BrokenSealError';

  /** @param table of the row, which the log names. */
  constructor(table: string) {
    super('seal_broken', [{ path: '', code: 'seal_broken', message: said(table) }]);
    this.message = said(table);
  }
}

const said = (table: string): string =>
  `the seal of a row of ${table} does not hold: somebody else than the server has changed it in the database. Nothing was stored; the operator finds the row in the server's log, and puts it back from a backup`;
