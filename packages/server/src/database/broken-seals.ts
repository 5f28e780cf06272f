import { ApiError } from '../errors/api-error.ts';

/**
 * A row that is not valid or is missing: a row with an invalid seal, an ingestion key that differs from the key audit trail, a signing key
 * that is not authentic, the missing row of a tenant, or the missing live decision key of a tenant.
 */
export interface BrokenSeal {
  table: string;
  /** Undefined in tables without a tenant. */
  tenantId: string | undefined;
  /** The fields that identify the row in its table. They contain no secret, and no hash of a secret. */
  key: Readonly<Record<string, string>>;
  /** Why the row is not valid or is missing; undefined if the row itself was changed or deleted outside the server. */
  reason?: string | undefined;
}

/** The largest number of rows that are remembered, so that each row is logged once. Above this number, all are forgotten. */
const ROWS_MAX = 1_000;

/** The length to which the values of a key, and a reason, are cut, because an attacker may have chosen them. */
const TEXT_LENGTH_MAX = 200;

/** Tables whose rows `/readyz` names. Rows of other tables belong to tenants and people, so `/readyz` does not name these rows. */
const PUBLIC_TABLES = new Set(['signing_keys']);

/** The rows of one database that this process has found to be not valid or missing: see BrokenSeal. */
export class BrokenSeals {
  readonly #counts = new Map<string, number>();
  readonly #rows = new Map<string, BrokenSeal>();
  readonly #listeners: ((broken: BrokenSeal) => void)[] = [];

  /** How often this process has found such a row, by table. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Calls `listener` once for each row, including the rows reported before. */
  listen(listener: (broken: BrokenSeal) => void): void {
    for (const broken of this.#rows.values()) listener(broken);
    this.#listeners.push(listener);
  }

  /** Records that this process has found such a row. */
  report({ table, tenantId, key, reason }: BrokenSeal): void {
    this.#counts.set(table, (this.#counts.get(table) ?? 0) + 1);
    const shortKey = Object.fromEntries(Object.entries(key).map(([name, value]) => [name, value.slice(0, TEXT_LENGTH_MAX)]));
    const broken = {
      table,
      tenantId,
      key: shortKey,
      ...(reason === undefined ? {} : { reason: reason.slice(0, TEXT_LENGTH_MAX) }),
    };
    const id = JSON.stringify([table, tenantId, shortKey, reason]);
    if (this.#rows.has(id)) return;
    if (this.#rows.size >= ROWS_MAX) this.#rows.clear();
    this.#rows.set(id, broken);
    for (const listener of this.#listeners) listener(broken);
  }

  /** One line for `/readyz` about these rows; undefined if this process has found none. */
  get summary(): string | undefined {
    if (this.#counts.size === 0) return undefined;
    const tables = [...this.#counts.keys()].sort().map((table) => this.#describe(table));
    return `rows were changed or deleted outside the server, and the server does not use them: ${tables.join(', ')}; the server's log names them`;
  }

  #describe(table: string): string {
    const rows = [...this.#rows.values()].filter((row) => row.table === table);
    if (rows.length === 0) return table; // Its rows were forgotten.
    if (PUBLIC_TABLES.has(table)) return `${table} (${rows.map(nameWithReason).join(', ')})`;
    return rows.length < 2 ? table : `${table} (${rows.length} rows)`;
  }
}

const nameWithReason = ({ key, reason }: BrokenSeal): string =>
  Object.values(key).join(' ') + (reason === undefined ? '' : `: ${reason}`);

/** One line that identifies a row that is not valid or is missing. */
export const describeBroken = ({ table, tenantId, key, reason }: BrokenSeal): string =>
  `a row of ${table} is not valid or is missing (${Object.entries({
    ...(tenantId === undefined ? {} : { tenant: tenantId }),
    ...key,
  })
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    .join(', ')}): ${reason ?? 'it was changed or deleted outside the server'}`;

/** A request depends on a row that is not valid or was deleted, so the request is rejected. */
export class BrokenSealError extends ApiError {
  override name = 'BrokenSealError';

  /** @param table the table of the row. The log names the row itself. */
  constructor(table: string) {
    super('seal_broken', [{ path: '', code: 'seal_broken', message: messageOf(table) }]);
    this.message = messageOf(table);
  }
}

const messageOf = (table: string): string =>
  `a row of ${table} is not valid or is missing: it was changed outside the server. Nothing was stored. The operator can find the row in the server's log and restore it from a backup`;
