/** One endpoint of OTLP/HTTP. */
export interface OtlpOperation {
  path: string;
  operationId: string;
  summary: string;
  description: string;
  /** The protobuf message of the body, in `opentelemetry.proto.collector`. */
  request: string;
  /** The protobuf message of the response. */
  response: string;
  /** The name of the member of `partialSuccess` that has the number of rejected records. */
  rejectedMember: string;
}

/** The endpoints of OTLP/HTTP by signal. They are outside `/api/`, because exporters use these paths. */
export const OTLP_OPERATIONS = {
  traces: {
    path: '/v1/traces',
    operationId: 'exportTraces',
    summary: 'Receive spans of OpenTelemetry',
    description:
      'Spans of GenAI instrumentations become the steps of runs; one `trace_id` is one run (docs/opentelemetry.md). ' +
      'The export is stored as received, except that user IDs of spans and their resources are overwritten if they contain an email ' +
      'address or are a telephone number. ' +
      'An identical export by the same key within 24 hours is acknowledged and not stored again.',
    request: 'trace.v1.ExportTraceServiceRequest',
    response: 'trace.v1.ExportTraceServiceResponse',
    rejectedMember: 'rejectedSpans',
  },
  logs: {
    path: '/v1/logs',
    operationId: 'exportLogs',
    summary: 'Receive log records of OpenTelemetry',
    description:
      'Messages, exceptions and findings are added to the span that the log record names, even if the span arrives up to 24 hours ' +
      'later. While 10,000 records of a workspace wait for their span, further records are counted as rejected. Records of other ' +
      'kinds are always counted as rejected. If one record is accepted, the whole export is stored as received, except that user IDs of log ' +
      'records and their resources are overwritten if they contain an email address or are a telephone number.',
    request: 'logs.v1.ExportLogsServiceRequest',
    response: 'logs.v1.ExportLogsServiceResponse',
    rejectedMember: 'rejectedLogRecords',
  },
  metrics: {
    path: '/v1/metrics',
    operationId: 'exportMetrics',
    summary: 'Acknowledge metrics of OpenTelemetry',
    description:
      'Metrics are not stored. Every data point is counted as rejected, so that exporters continue and report the reason.',
    request: 'metrics.v1.ExportMetricsServiceRequest',
    response: 'metrics.v1.ExportMetricsServiceResponse',
    rejectedMember: 'rejectedDataPoints',
  },
} as const satisfies Record<string, OtlpOperation>;

/** The media types of OTLP/HTTP. A response has the media type of its request. */
export const OTLP_MEDIA_TYPES = ['application/x-protobuf', 'application/json'] as const;

/** Statuses of the error table, with the statuses that OTLP/HTTP uses instead. Exporters do not retry after 400. */
export const OTLP_STATUS: Readonly<Record<number, number>> = { 422: 400 };
