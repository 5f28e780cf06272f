import { OTLP_OPERATIONS } from '@countersign/core/contract/otlp-operations';
import { firstRepeatedMember } from '@countersign/core/domain/exact-json';
import { isNestedDeeperThan } from '@countersign/core/domain/nesting';
import { requireFewCopies } from '@countersign/core/otlp/copied-parts';
import { maskInJson, maskInProtobuf, removePersonalIds } from '@countersign/core/otlp/personal-data';
import { countProtobuf, type Signal } from '@countersign/core/otlp/protobuf-bounds';
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

const SPAN_READER: Reader<SpanRecord> = {
  protobuf: (bytes) => requireFewCopies(readProtobufSpans(bytes), bytes.length),
  json: (body, bytes) => requireFewCopies(readJsonSpans(body), bytes.length),
};

/** Reads the spans of a body. User IDs that are personal data are removed from the spans, and overwritten in the body that is stored. */
export const readSpans = (request: ExportRequest): ReadExport<SpanRecord> => readRecords(request, SPAN_READER);

const LOG_READER: Reader<LogRecord> = { protobuf: readProtobufLogs, json: (body) => readJsonLogs(body) };

/** Reads the log records of a body, as `readSpans` does. */
export const readLogs = (request: ExportRequest): ReadExport<LogRecord> => readRecords(request, LOG_READER);

/** The number of data points in a body of metrics. `missing` is the same as in ReadExport. */
export function countPoints({ mediaType, document }: ExportRequest): { points: number; missing?: string } {
  if (mediaType !== 'application/json') return { points: readOrReject(() => countProtobuf('metrics', document).records) };
  const body = readJsonBody(document);
  return { points: readOrReject(() => countJsonPoints(body)), ...missingList('metrics', body) };
}

function readRecords<Record extends SpanRecord | LogRecord>(
  { signal, mediaType, document }: ExportRequest,
  reader: Reader<Record>,
): ReadExport<Record> {
  if (mediaType === 'application/x-protobuf') {
    const records = readOrReject(() => reader.protobuf(document));
    const personal = removePersonalIds(records, containsPersonalData);
    if (personal.size > 0) maskInProtobuf(signal, document, personal);
    return { records, isRedacted: personal.size > 0 };
  }
  const body = readJsonBody(document);
  const records = readOrReject(() => reader.json(body, document));
  const personal = removePersonalIds(records, containsPersonalData);
  const missing = missingList(signal, body);
  if (personal.size === 0) return { records, isRedacted: false, ...missing };
  return { records, isRedacted: true, ...missing, body: maskInJson(document.toString(), personal) };
}

/** The maximum nesting of a JSON body. One level of an attribute's value is three or four levels of JSON. */
const JSON_DEPTH_MAX = 200;

/**
 * Parses a body as JSON within the limits of a report. A member that is given twice is an error, because only the last one would be read,
 * and the others would be lost.
 */
function readJsonBody(document: Buffer): unknown {
  const { text, value } = parseJson(document, BODY_BOUNDS.report);
  const repeated = firstRepeatedMember(text);
  if (repeated !== undefined) throw new ApiError('invalid_export', [repeated]);
  if (isNestedDeeperThan(value, JSON_DEPTH_MAX))
    throw notOtlp(`the body is nested more deeply than ${JSON_DEPTH_MAX} levels; flatten it`);
  return value;
}

/** The member of a JSON body that contains the records, by signal. */
const RECORD_LISTS: Readonly<Record<Signal, string>> = {
  traces: 'resourceSpans',
  logs: 'resourceLogs',
  metrics: 'resourceMetrics',
};

/**
 * A message for a body that has members, but not the list of its signal. If the body has the list of another signal, the message says where
 * to send it. Unknown members are permitted.
 */
function missingList(signal: Signal, body: unknown): { missing?: string } {
  const members = Object.keys(body as object);
  if (members.length === 0 || members.includes(RECORD_LISTS[signal])) return {};
  const otherSignal = (Object.keys(RECORD_LISTS) as Signal[]).find((each) => members.includes(RECORD_LISTS[each]));
  const remedy = otherSignal === undefined ? '' : ` Send ${RECORD_LISTS[otherSignal]} to ${OTLP_OPERATIONS[otherSignal].path}.`;
  return { missing: `The body has no ${RECORD_LISTS[signal]}, so nothing was stored.${remedy}` };
}

/** Runs a reader. Throws 400 `invalid_export` instead of a MalformedExportError. */
function readOrReject<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof MalformedExportError) {
      const position = error.place.startsWith('byte') ? ` (${error.place})` : '';
      throw notOtlp(error.message + position, error.place.startsWith('/') ? error.place : '');
    }
    throw error;
  }
}

const notOtlp = (message: string, path = ''): ApiError => new ApiError('invalid_export', [{ path, code: 'not_otlp', message }]);
