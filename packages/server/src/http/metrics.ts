import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { sharedResult } from './shared-result.ts';

/** The maximum age of the text of /metrics, in milliseconds. */
const TEXT_AGE_MS_MAX = 1000;

/** The sources of the gauges. */
export interface MetricSources {
  /** Bytes that wait for their commit. */
  queuedBytes: () => number;
  /** Bytes of request bodies in memory. */
  bodyBytes: () => number;
  /** Bytes of responses in memory. */
  responseBytes: () => number;
  isClockUnsafe: () => boolean;
  /** The number of logs that were changed outside the server. A log counts as soon as the server has read the change. */
  refusedLogs: () => number;
  /** Large bodies that are queued or being prepared on the worker thread. */
  preparingBodies: () => number;
  /** Large bodies that the worker thread has prepared or rejected since the start. */
  preparedBodies: () => number;
  connections: { readonly openCount: number; readonly rejectedCount: number; readonly stalledCount: number };
  /** How often the server found a row that is not valid or is missing, by table. */
  brokenSeals: () => ReadonlyMap<string, number>;
  /** The number of rows that differ from the evidence log, as of the last comparison. */
  evidenceFindings: () => number;
  /**
   * The number of findings in the logs audit, decisions, evidence and keys: at most one fault of each log, and the rows that differ from
   * it.
   */
  ledgerFindings: () => number;
  /** The number of findings in the trace logs: at most one fault of each log, and the rows that differ from it. */
  traceFindings: () => number;
  /** The number of differences between the schema of the database and the schema of the migrations. */
  schemaFindings: () => number;
}

/** The metrics of one server for Prometheus. No label names a tenant, a key or an agent. */
export class Metrics {
  readonly registry = new Registry();
  readonly requests = new Counter({
    name: 'countersign_http_requests_total',
    help: 'Requests by endpoint and status.',
    labelNames: ['endpoint', 'status'] as const,
    registers: [this.registry],
  });
  readonly latency = new Histogram({
    name: 'countersign_http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its response.',
    labelNames: ['endpoint'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.registry],
  });
  readonly batchItems = new Histogram({
    name: 'countersign_batch_items',
    help: 'Number of requests in each committed batch, by kind.',
    labelNames: ['kind'] as const,
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers: [this.registry],
  });
  readonly ledgerAppends = new Counter({
    name: 'countersign_ledger_appends_total',
    help: 'Audit entries that requests of the public API appended through this server, including those of blocked decisions.',
    registers: [this.registry],
  });
  readonly decisions = new Counter({
    name: 'countersign_decisions_total',
    help: 'Promotion decisions by reason.',
    labelNames: ['reason'] as const,
    registers: [this.registry],
  });

  /** Returns the text of /metrics. It is rendered at most once per `renderMs`, because rendering blocks the event loop for milliseconds. */
  readonly render: () => Promise<string>;

  /**
   * @param sources are read while the metrics are rendered.
   * @param renderMs the maximum age of the text, in milliseconds.
   */
  constructor(sources: MetricSources, renderMs = TEXT_AGE_MS_MAX) {
    this.render = sharedResult(renderMs, () => this.registry.metrics());
    collectDefaultMetrics({ register: this.registry });
    this.#gauge('countersign_queue_bytes', 'Bytes that wait for their commit.', sources.queuedBytes);
    this.#gauge('countersign_reading_bytes', 'Bytes of request bodies in memory.', sources.bodyBytes);
    this.#gauge('countersign_answering_bytes', 'Bytes of responses in memory.', sources.responseBytes);
    this.#gauge(
      'countersign_clock_unsafe',
      '1 while records are rejected because a clock jumped or the clocks differ, and for a few seconds after that. Otherwise 0.',
      () => Number(sources.isClockUnsafe()),
    );
    this.#gauge(
      'countersign_logs_refused',
      'Logs in which the server has found a change that was made outside the server. It signs nothing more for these logs.',
      sources.refusedLogs,
    );
    this.#brokenSeals(sources.brokenSeals);
    this.#gauge(
      'countersign_evidence_findings',
      'Rows that differ from the evidence log, as of the last comparison. Decisions do not depend on them.',
      sources.evidenceFindings,
    );
    this.#gauge(
      'countersign_log_findings',
      'Faults of the logs audit, decisions, evidence and keys (at most one of each log), and rows that differ from them, as of the last verification.',
      sources.ledgerFindings,
    );
    this.#gauge(
      'countersign_trace_findings',
      'Faults of the trace logs (at most one of each log), and rows that differ from them, as of the last verification.',
      sources.traceFindings,
    );
    this.#gauge(
      'countersign_schema_findings',
      'Objects of the schema that differ from the migrations, as of the last comparison.',
      sources.schemaFindings,
    );
    const { connections } = sources;
    this.#gauge('countersign_connections', 'Open connections.', () => connections.openCount);
    this.#counter(
      'countersign_connections_refused_total',
      'Connections rejected because of the limits.',
      () => connections.rejectedCount,
    );
    this.#counter(
      'countersign_connections_stalled_total',
      'Connections closed because their client did not read its response.',
      () => connections.stalledCount,
    );
    this.#gauge(
      'countersign_worker_bodies',
      'Large bodies that are queued or being prepared on the worker thread.',
      sources.preparingBodies,
    );
    this.#gauge(
      'countersign_worker_bodies_done',
      'Large bodies that the worker thread has prepared or rejected since the start.',
      sources.preparedBodies,
    );
  }

  /** Adds the metrics of the disk of the embedded database. */
  watchSpace(space: { freeBytes: number; floorBytes: number; isLow: boolean }): void {
    this.#gauge('countersign_disk_free_bytes', 'Free space on the disk of the embedded database.', () => space.freeBytes);
    this.#gauge('countersign_disk_floor_bytes', 'Free space below which new records are rejected.', () => space.floorBytes);
    this.#gauge('countersign_disk_refusing', 'Whether new records are rejected because the disk is nearly full: 0 or 1.', () =>
      Number(space.isLow),
    );
  }

  #brokenSeals(readCounts: MetricSources['brokenSeals']): void {
    new Counter({
      name: 'countersign_broken_seals_total',
      help: 'How often the server found a row that was changed, added or deleted outside the server, by table.',
      labelNames: ['table'] as const,
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [table, count] of readCounts()) this.inc({ table }, count);
      },
    });
  }

  /** A counter whose total is stored elsewhere. */
  #counter(name: string, help: string, readValue: () => number): void {
    new Counter({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(readValue());
      },
    });
  }

  #gauge(name: string, help: string, readValue: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(readValue());
      },
    });
  }
}
