import type { OTLP_MEDIA_TYPES } from '@countersign/core/contract/otlp-operations';
import type { Signal } from '@countersign/core/otlp/protobuf-bounds';
import type { SpanRecord } from '@countersign/core/otlp/records';
import type { Principal } from '../ingest/ingest-request.ts';
import type { PreparedTrace } from '../ingest/prepared-trace.ts';
import type { Replayable } from '../ingest/replays.ts';
import type { LogRecordRow } from '../storage/log-records.ts';
import type { PartialSuccess } from './responses.ts';

/** A media type of OTLP/HTTP. */
export type MediaType = (typeof OTLP_MEDIA_TYPES)[number];

/** An authenticated export with the bytes of its body. */
export interface ExportRequest {
  principal: Principal;
  signal: Signal;
  mediaType: MediaType;
  /** The decompressed body, byte for byte. */
  document: Buffer;
}

/** The records of a body, without user IDs that are personal data. */
export interface ReadExport<Record = SpanRecord> {
  records: Record[];
  /** Whether user IDs that are personal data were removed from the records and overwritten in the body. */
  isRedacted: boolean;
  /**
   * The sentence for the sender of a JSON body without the list of its records, for example `resourceSpans`. Undefined if the body has this
   * list, or has no members.
   */
  missing?: string;
  /**
   * The body to store if user IDs were removed from JSON. Otherwise the document of the request is stored: in a protobuf document, user IDs
   * are overwritten in place.
   */
  body?: string;
}

/** A trace of an export before it is queued. A structured clone turns its document into a Uint8Array. */
export type TraceOfExport = Omit<PreparedTrace, 'document' | 'bytes' | 'batchKeys' | 'idempotency'> & { document: Uint8Array };

/** A log record of an export, or a finding in one of its spans. */
export type LogOfExport = Omit<LogRecordRow, 'recordedBy' | 'export'>;

/** An export before it is queued. */
export interface PreparedExport extends Replayable {
  signal: Signal;
  mediaType: MediaType;
  isRedacted: boolean;
  /** The changed JSON body, if any. */
  body?: string;
  recordedBy: string;
  traces: TraceOfExport[];
  logs: LogOfExport[];
  /**
   * The distinct trace_ids of the export's log records, or of its spans without a valid span_id. No submission names these runs, but the
   * stored body contains parts of them.
   */
  otherTraceIds: string[];
  /** What the response reports about the export. */
  partialSuccess: PartialSuccess;
}

/** An export in the queue of its writer, with the bytes to store. */
export interface QueuedExport extends Omit<PreparedExport, 'body' | 'traces'> {
  body: Buffer;
  traces: PreparedTrace[];
}
