import pg, { type Connection } from 'pg';
import { bindAndExecute, closeStatement, describeStatement, parameterOf, parse, SYNC } from './frontend-messages.ts';

/** A named statement: prepared once per connection, and identified by its name in pg_stat_statements. */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  /** Never set: it has the type of a row. */
  readonly row?: Row;
}

/** The result of a statement. */
export interface Result<Row> {
  rows: Row[];
  /** The command's tag: `COMMIT`, `INSERT 0 1`. */
  command: string;
}

interface Column {
  name: string;
  read: (text: string) => unknown;
}

/** The state of a connection's prepared statements. */
interface Prepared {
  /** The columns of each prepared statement, by its name; empty for one without rows. */
  columns: Map<string, Column[]>;
  /** Prepared in a group that failed, so it is unknown whether the server has them. */
  doubtful: Set<string>;
}

const preparedOn = new WeakMap<Connection, Prepared>();

function preparedStatements(connection: Connection): Prepared {
  let prepared = preparedOn.get(connection);
  if (prepared === undefined) {
    prepared = { columns: new Map(), doubtful: new Set() };
    preparedOn.set(connection, prepared);
  }
  return prepared;
}

interface Asked {
  statement: Statement<unknown>;
  values: readonly unknown[];
  resolve: (result: Result<never>) => void;
  reject: (error: unknown) => void;
}

/**
 * Statements that are sent together: one write, one Sync, one response. The driver's own pipeline ends every statement with its own Sync,
 * which causes a response and a wake-up for each, and requests the columns each time.
 *
 * If one fails, the later ones are not run and fail with the same error.
 */
export class StatementGroup extends pg.Query {
  // The driver accepts a query of another class in its pipeline only if it extends its own. Nothing else of it is used.
  declare callback?: (error: unknown) => void;
  readonly #asked: Asked[] = [];
  #answered = 0;
  #rows: unknown[] = [];
  #columns: readonly Column[] = [];
  #prepared: Prepared | undefined;
  readonly #parsed: { name: string; place: number }[] = [];

  constructor() {
    super({ text: '' });
  }

  /** The statements in order, for observers of a connection. */
  get carried(): readonly { statement: Statement<unknown>; values: readonly unknown[] }[] {
    return this.#asked;
  }

  /** Adds a statement; its promise settles with its response. */
  add<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Result<Row>> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ statement, values, resolve, reject });
    });
  }

  /** Called by the driver when it is our turn on the connection. */
  override submit = (connection: Connection): void => {
    this.#prepared = preparedStatements(connection);
    const pieces: Buffer[] = [];
    try {
      for (const [place, asked] of this.#asked.entries()) pieces.push(...this.#messagesOf(asked, place));
    } catch (error) {
      // Nothing was sent, but the driver waits for a response: an empty one.
      this.handleError(error);
      pieces.length = 0;
    }
    pieces.push(SYNC);
    const { stream } = connection;
    stream.cork();
    for (const piece of pieces) stream.write(piece);
    stream.uncork();
  };

  #messagesOf({ statement: { name, text }, values }: Asked, place: number): Buffer[] {
    const { columns, doubtful } = this.#prepared!;
    const run = bindAndExecute(name, values.map(parameterOf));
    if (columns.has(name)) return run;
    columns.set(name, []);
    this.#parsed.push({ name, place });
    const forgetting = doubtful.delete(name) ? [closeStatement(name)] : [];
    return [...forgetting, parse(name, text), describeStatement(name), ...run];
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    const columns = fields.map(({ name, dataTypeID }) => ({
      name,
      read: pg.types.getTypeParser(dataTypeID, 'text') as Column['read'],
    }));
    this.#prepared!.columns.set(this.#asked[this.#answered]!.statement.name, columns);
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    if (this.#rows.length === 0) this.#columns = this.#prepared!.columns.get(this.#asked[this.#answered]!.statement.name)!;
    const row: Record<string, unknown> = {};
    for (let place = 0; place < fields.length; place += 1) {
      const { name, read } = this.#columns[place]!;
      const field = fields[place]!;
      row[name] = field === null ? null : read(field);
    }
    this.#rows.push(row);
  }

  handleCommandComplete({ text }: { text: string }): void {
    const { resolve } = this.#asked[this.#answered]!;
    this.#answered += 1;
    resolve({ rows: this.#rows as never[], command: text });
    this.#rows = [];
  }

  handleError(error: unknown): void {
    const { columns, doubtful } = this.#prepared ?? { columns: new Map(), doubtful: new Set() };
    for (const { name, place } of this.#parsed) {
      if (place < this.#answered) continue;
      columns.delete(name);
      doubtful.add(name);
    }
    this.#fail(error);
  }

  handleReadyForQuery(): void {
    this.callback?.(null);
  }

  #fail(error: unknown): void {
    for (const { reject } of this.#asked.slice(this.#answered)) reject(error);
    this.#answered = this.#asked.length;
    this.callback?.(error);
  }
}
