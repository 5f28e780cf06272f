import { readJsonLogs, readJsonSpans } from '@countersign/core/otlp/read-json';
import { readProtobufLogs, readProtobufSpans } from '@countersign/core/otlp/read-protobuf';
import { MalformedExportError } from '@countersign/core/otlp/records';
import type { ReadableExport } from '../storage/due-exports.ts';

/** Whether a span or a log record in the stored body of an OpenTelemetry export has this trace_id. False if the body is malformed. */
export function namesRun(
  body: Buffer,
  { signal, mediaType }: Pick<ReadableExport, 'signal' | 'mediaType'>,
  traceId: string,
): boolean {
  try {
    if (mediaType === 'application/x-protobuf') {
      const records = signal === 'traces' ? readProtobufSpans(body) : readProtobufLogs(body);
      return records.some((record) => record.traceId === traceId);
    }
    const document: unknown = JSON.parse(body.toString());
    const records = signal === 'traces' ? readJsonSpans(document) : readJsonLogs(document);
    return records.some((record) => record.traceId === traceId);
  } catch (error) {
    if (error instanceof MalformedExportError || error instanceof SyntaxError) return false;
    throw error;
  }
}
