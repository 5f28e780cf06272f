import { telemetryBody } from '../bodies.ts';
import type { BenchEnvironment } from '../environment.ts';
import { runLoad } from '../load.ts';
import { alternate, type Measure, type RoundOptions, type Row } from '../rounds.ts';
import { CONNECTIONS, loadRequestsOf, measuresOf } from './requests.ts';

/** The maximum number of events in one COPY. */
const COPIED_EVENTS_MAX = 20_000;

/**
 * Compares telemetry over HTTP with a COPY of the same events, which PostgreSQL reads from a file on its machine. The target table has the
 * columns, constraints and indexes of telemetry_events, and each event's document. The COPY needs no network, JSON or HTTP.
 */
export async function telemetry(environment: BenchEnvironment, options: RoundOptions): Promise<Row[]> {
  const work = measuresOf(environment).telemetry;
  const copy = await copyOfTelemetry(environment);
  const title = {
    work: 'telemetry, batches of 200',
    limit: 'server-side COPY',
    unit: 'events/s',
    target: { required: 0.75, stretch: 0.85 },
  };
  return [await alternate(title, options, work, copy)];
}

/** Writes a file of events that were received over HTTP, and returns a measurement of the rate at which COPY reads it. */
async function copyOfTelemetry(environment: BenchEnvironment): Promise<Measure> {
  const { superuser } = environment;
  await runLoad({
    port: environment.port,
    connections: CONNECTIONS,
    seconds: 2,
    loadRequests: loadRequestsOf(environment).telemetry,
  });
  await superuser.query(`CREATE SCHEMA bench;
    CREATE TABLE bench.event (ordinal bigint PRIMARY KEY, document text NOT NULL);
    CREATE TABLE bench.telemetry (LIKE countersign.telemetry_events INCLUDING ALL, document text NOT NULL);
    ALTER TABLE bench.telemetry ALTER COLUMN document SET STORAGE EXTERNAL`);
  // The stored documents are compressed, so the events are taken from the body that was sent.
  await superuser.query(
    `INSERT INTO bench.event
     SELECT place - 1, event::text FROM json_array_elements($1::json -> 'events') WITH ORDINALITY AS _ (event, place)`,
    [telemetryBody()],
  );
  const { rows } = await superuser.query<{ file: string }>(
    `SELECT current_setting('data_directory') || '/bench-telemetry' AS file`,
  );
  const file = `'${rows[0]!.file.replaceAll("'", "''")}'`;
  await superuser.query(`COPY (
    SELECT e.*, event.document FROM (SELECT * FROM countersign.telemetry_events LIMIT ${COPIED_EVENTS_MAX}) AS e
      JOIN bench.event USING (ordinal)) TO ${file}`);
  return async (seconds) => {
    let [events, milliseconds] = [0, 0];
    while (milliseconds < seconds * 1000) {
      await superuser.query('TRUNCATE bench.telemetry'); // in its own transaction, so COPY writes its WAL as usual
      const startedAt = performance.now();
      const { rowCount } = await superuser.query(`COPY bench.telemetry FROM ${file}`);
      milliseconds += performance.now() - startedAt;
      events += rowCount ?? 0;
    }
    return (events / milliseconds) * 1000;
  };
}
