/** Hand-written types for the part of the generated code that tests use. Members that were not sent are undefined or null. */

/** A 64-bit integer as two signed halves. */
export interface Int64 {
  low: number;
  high: number;
  unsigned: boolean;
}

export interface AnyValue {
  /** The name of the member below that was sent last. */
  value?: 'stringValue' | 'boolValue' | 'intValue' | 'doubleValue' | 'arrayValue' | 'kvlistValue' | 'bytesValue';
  stringValue?: string | null;
  boolValue?: boolean | null;
  intValue?: Int64 | null;
  doubleValue?: number | null;
  arrayValue?: { values?: AnyValue[] | null } | null;
  kvlistValue?: { values?: KeyValue[] | null } | null;
  bytesValue?: Uint8Array | null;
}

export interface KeyValue {
  key?: string;
  value?: AnyValue | null;
}

export interface Resource {
  attributes?: KeyValue[];
}

export interface Scope {
  name?: string;
  version?: string;
}

export interface SpanEvent {
  timeUnixNano?: Int64;
  name?: string;
  attributes?: KeyValue[];
}

export interface SpanLink {
  traceId?: Uint8Array;
  spanId?: Uint8Array;
  attributes?: KeyValue[];
}

export interface Span {
  traceId?: Uint8Array;
  spanId?: Uint8Array;
  parentSpanId?: Uint8Array;
  flags?: number;
  name?: string;
  kind?: number;
  startTimeUnixNano?: Int64;
  endTimeUnixNano?: Int64;
  attributes?: KeyValue[];
  events?: SpanEvent[];
  links?: SpanLink[];
  status?: { message?: string; code?: number } | null;
}

export interface LogRecord {
  timeUnixNano?: Int64;
  observedTimeUnixNano?: Int64;
  severityText?: string;
  body?: AnyValue | null;
  attributes?: KeyValue[];
  traceId?: Uint8Array;
  spanId?: Uint8Array;
  eventName?: string;
}

export interface ExportTraceServiceRequest {
  resourceSpans?: { resource?: Resource | null; scopeSpans?: { scope?: Scope | null; spans?: Span[] }[] }[];
}

export interface ExportLogsServiceRequest {
  resourceLogs?: { resource?: Resource | null; scopeLogs?: { scope?: Scope | null; logRecords?: LogRecord[] }[] }[];
}

interface MessageType<Message> {
  decode(bytes: Uint8Array): Message;
  encode(message: object): { finish(): Uint8Array };
}

export const opentelemetry: {
  proto: {
    collector: {
      trace: {
        v1: {
          ExportTraceServiceRequest: MessageType<ExportTraceServiceRequest>;
          ExportTraceServiceResponse: MessageType<object>;
        };
      };
      logs: {
        v1: {
          ExportLogsServiceRequest: MessageType<ExportLogsServiceRequest>;
          ExportLogsServiceResponse: MessageType<object>;
        };
      };
    };
  };
};
