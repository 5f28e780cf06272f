import { isNestedDeeperThan } from '@countersign/core/domain/nesting';
import { requireFewCopies } from '@countersign/core/otlp/copied-parts';
import { blankInJson, blankInProtobuf, removePersonalIds } from '@countersign/core/otlp/personal-data';
import { countProtobuf } from '@countersign/core/otlp/protobuf-bounds';
import { countJsonPoints, readJsonLogs, readJsonSpans } from '@countersign/core/otlp/read-json';
import { readProtobufLogs, readProtobufSpans } from '@countersign/core/otlp/read-protobuf';
import { type LogRecord, MalformedExportError, type SpanRecord } from '@countersign/core/otlp/records';
import { ApiError } from '../errors/api-error.ts';
import type { ExportRequest, ReadExport } from '../otlp/export.ts';
import { BODY_BOUNDS } from './body-bounds.ts';
import { parseJson } from './parse-json.ts';
import { containsPersonalData } from './personal-data.ts';

/** The functions that read the records of a body, one for each encoding. */
interface Reader<Record> {
  protobuf: (bytes: Uint8Array) => Record[];
  json: (body: unknown, bytes: Uint8Array) => Record[];
}

const SPANS: Reader<SpanRecord> = {
  protobuf: (bytes) => requireFewCopies(readProtobufSpans(bytes), bytes.length),
  json: (body, bytes) => requireFewCopies(readJsonSpans(body), bytes.length),
};

/** Reads the spans of a body. User IDs that are personal data are removed from the spans, and overwritten in the body that is stored. */
export const readSpans = (request: ExportRequest): ReadExport<SpanRecord> => readRecords(request, SPANS);

const LOGS: Reader<LogRecord> = { protobuf: readProtobufLogs, json: (body) => readJsonLogs(body) };

/** Reads the log records of a body, as `readSpans` does. */
export const readLogs = (request: ExportRequest): ReadExport<LogRecord> => readRecords(request, LOGS);

/** The number of data points in a body of metrics. */
export const countPoints = ({ mediaType, document }: ExportRequest): number =>
  mediaType === 'application/json'
    ? readOrReject(() => countJsonPoints(readJsonBody(document)))
    : readOrReject(() => countProtobuf('metrics', document).records);

function readRecords<Record extends SpanRecord | LogRecord>(
  { signal, mediaType, document }: ExportRequest,
  reader: Reader<Record>,
): ReadExport<Record> {
  if (mediaType === 'application/x-protobuf') {
    const records = readOrReject(() => reader.protobuf(document));
    const personal = removePersonalIds(records, containsPersonalData);
    if (personal.size > 0) blankInProtobuf(signal, document, personal);
    return { records, isRedacted: personal.size > 0 };
  }
  const body = readJsonBody(document);
  const records = readOrReject(() => reader.json(body, document));
  const personal = removePersonalIds(records, containsPersonalData);
  if (personal.size === 0) return { records, isRedacted: false };
  return { records, isRedacted: true, body: blankInJson(document.toString(), personal) };
}

/** The maximum nesting of a JSON body. One level of an attribute's value is three or four levels of JSON. */
const JSON_DEPTH_MAX = 200;

/** Parses a body as JSON within the limits of a report. */
function readJsonBody(document: Buffer): unknown {
  const { value } = parseJson(document, BODY_BOUNDS.report);
  if (isNestedDeeperThan(value, JSON_DEPTH_MAX))
    throw notOtlp(`the body is nested more deeply than ${JSON_DEPTH_MAX} levels; flatten it`);
  return value;
}

/** Runs a reader. Throws 400 `invalid_export` instead of a MalformedExportError. */
function readOrReject<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof MalformedExportError) {
      const at = error.place.startsWith('byte') ? ` (${error.place})` : '';
      throw notOtlp(error.message + at, error.place.startsWith('/') ? error.place : '');
    }
    throw error;
  }
}

const notOtlp = (message: string, path = ''): ApiError => new ApiError('invalid_export', [{ path, code: 'not_otlp', message }]);
