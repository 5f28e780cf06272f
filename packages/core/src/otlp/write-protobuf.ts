import protobuf from 'protobufjs/minimal.js';
import type { Signal } from './protobuf-bounds.ts';

const VARINT = 0;
const LENGTH_DELIMITED = 2;
const tag = (field: number, wireType: number): number => field * 8 + wireType;

/** The OTLP/JSON form of a response to an export. */
interface ExportResponse {
  partialSuccess?: Readonly<Record<string, string>>;
}

const REJECTED_MEMBERS: Readonly<Record<Signal, string>> = {
  traces: 'rejectedSpans',
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
};

/** The response to an export as protobuf. The responses of the three signals have the same field numbers. */
export function encodeExportResponse(signal: Signal, { partialSuccess }: ExportResponse): Uint8Array {
  const writer = protobuf.Writer.create();
  if (partialSuccess === undefined) return writer.finish();
  writer.uint32(tag(1, LENGTH_DELIMITED)).fork();
  const rejected = Number(partialSuccess[REJECTED_MEMBERS[signal]] ?? 0);
  if (rejected > 0) writer.uint32(tag(1, VARINT)).int64(rejected);
  const message = partialSuccess.errorMessage ?? '';
  if (message !== '') writer.uint32(tag(2, LENGTH_DELIMITED)).string(message);
  return writer.ldelim().finish();
}

/** A google.rpc.Status as protobuf. */
export const encodeStatus = ({ code, message }: { code: number; message: string }): Uint8Array =>
  protobuf.Writer.create().uint32(tag(1, VARINT)).int32(code).uint32(tag(2, LENGTH_DELIMITED)).string(message).finish();
