import { inSnapshotTransaction } from '../database/transaction.ts';
import { requireReadable } from '../storage/document-segments.ts';
import { listFindings, listRecordsOfSpan } from '../storage/portal/log-records.ts';
import {
  findEvent,
  findEventSubmission,
  findEventSubmissionBytes,
  findExportBody,
  findSubmissionFile,
  findTrace,
  listEventsOfRun,
  listSubmissions,
  readDocuments,
} from '../storage/portal/run-details.ts';
import { FIRST_PLACE, listRuns } from '../storage/portal/runs.ts';
import { findSpan } from '../storage/portal/spans.ts';
import { handlers, Reply } from './handler.ts';
import { pageOf, readCursor } from './page.ts';
import { idOf, rangeOf, requireFound } from './query.ts';
import { differingRowsOfTrace, eventIn, lastReported, payloadOf, spanIn } from './run-documents.ts';
import { findingRow, withRecords } from './run-log-records.ts';
import { placeOf, searchRuns } from './run-search.ts';
import { readSpanPage, withinBytes } from './span-pages.ts';

const EVENTS_SHOWN_MAX = 50;
const SUBMISSIONS_SHOWN_MAX = 200;
const FINDINGS_SHOWN_MAX = 200;
/** The maximum number and total bytes of the newest submissions that are searched for the last detail, error and metadata. */
const REPORTED_SUBMISSIONS_MAX = 20;
const REPORTED_BYTES_MAX = 8 * 1024 * 1024;

const JSON_FILE = 'application/json; charset=utf-8';

/** Traces and telemetry events: the list, and single records. */
export const runHandlers = handlers({
  'runs.list': async ({ workspace, query, parts }) => {
    const after = readCursor(query.cursor, ['uuid', 'ordinal']);
    const position = after === null ? FIRST_PLACE : { id: after[0], ordinal: Number(after[1]) };
    const filter = {
      ...rangeOf(query),
      source: query.source ?? null,
      agentId: idOf(query.agent_id),
      outcome: query.outcome ?? null,
      sessionId: query.session_id ?? null,
    };
    const { text } = query;
    return inSnapshotTransaction(parts.readPool, workspace, (tx) =>
      pageOf(
        query,
        (limit) => (text === undefined ? listRuns(tx, filter, position, limit) : searchRuns(tx, filter, text, position, limit)),
        (run) => {
          const { id, ordinal } = placeOf(run);
          return [id, ordinal];
        },
      ),
    );
  },

  'runs.trace': async ({ workspace, params, parts, memory }) =>
    inSnapshotTransaction(parts.readPool, workspace, async (tx) => {
      const trace = requireFound(await findTrace(tx, params.trace));
      const [submissions, telemetry, findings] = await Promise.all([
        listSubmissions(tx, trace.id, SUBMISSIONS_SHOWN_MAX),
        listEventsOfRun(tx, trace.trace_id, EVENTS_SHOWN_MAX),
        listFindings(tx, trace.trace_id, FINDINGS_SHOWN_MAX),
      ]);
      const latest = withinBytes(
        submissions.slice(0, REPORTED_SUBMISSIONS_MAX),
        ({ document_bytes }) => document_bytes,
        REPORTED_BYTES_MAX,
      );
      memory.reserve(latest.reduce((sum, { document_bytes }) => sum + document_bytes, 0));
      const documents = await readDocuments(
        tx,
        trace.id,
        latest.map(({ number }) => number),
      );
      return {
        ...trace,
        ...lastReported(documents),
        submissions: submissions.map(({ document_bytes: _, ...each }) => each).reverse(),
        findings: findings.map(findingRow),
        telemetry,
        differing_rows: differingRowsOfTrace(trace.id, documents, parts.traceFindings.of(workspace)),
      };
    }),

  'runs.spans': async ({ workspace, params, query, parts, memory }) => {
    const after = readCursor(query.cursor, ['submissionNumber', 'ordinal', 'wholeNumber']);
    const lastStep = after === null ? null : { submission: Number(after[0]), ordinal: Number(after[1]) };
    const start = { after: lastStep, position: Number(after?.[2] ?? 0) };
    return inSnapshotTransaction(parts.readPool, workspace, async (tx) => {
      if (after === null) requireFound(await findTrace(tx, params.trace));
      return readSpanPage(tx, params.trace, start, memory);
    });
  },

  'runs.span': async ({ workspace, params, query, parts, memory }) => {
    const { submission, ordinal, document, records } = await inSnapshotTransaction(parts.readPool, workspace, async (tx) => {
      const span = requireFound(await findSpan(tx, params.trace, query.span_id));
      memory.reserve(span.document_bytes);
      const [[stored], records] = await Promise.all([
        readDocuments(tx, params.trace, [span.submission]),
        listRecordsOfSpan(tx, params.trace, query.span_id),
      ]);
      return { ...span, records, document: requireReadable(requireFound(stored).document) };
    });
    return { span_id: query.span_id, submission, payload: payloadOf(withRecords(spanIn(document, ordinal), records), 'span') };
  },

  'runs.submission': async ({ workspace, params, parts, memory }) => {
    const number = Number(params.number);
    const { content, file } = await inSnapshotTransaction(parts.readPool, workspace, async (tx) => {
      const file = requireFound(await findSubmissionFile(tx, params.trace, number));
      memory.reserve(file.bytes);
      if (file.export !== null) return { file, content: requireFound(await findExportBody(tx, file.export)) };
      const [stored] = await readDocuments(tx, params.trace, [number]);
      return { file, content: requireReadable(requireFound(stored).document) };
    });
    const isJson = file.media_type === 'application/json';
    const name = `trace-${params.trace}-${number}.${isJson ? 'json' : 'binpb'}`;
    return Reply.file(content, isJson ? JSON_FILE : file.media_type, name);
  },

  'runs.event': async ({ workspace, params, parts, memory }) => {
    const { document, event } = await inSnapshotTransaction(parts.readPool, workspace, async (tx) => {
      const { document_bytes, ...event } = requireFound(await findEvent(tx, params.submission, Number(params.ordinal)));
      memory.reserve(document_bytes);
      return { event, document: requireFound(await findEventSubmission(tx, params.submission)) };
    });
    const sent = eventIn(document, event.ordinal);
    return { ...event, detail: sent.detail ?? null, payload: payloadOf(sent, 'event') };
  },

  'runs.event_submission': async ({ workspace, params, parts, memory }) => {
    const document = await inSnapshotTransaction(parts.readPool, workspace, async (tx) => {
      memory.reserve(requireFound(await findEventSubmissionBytes(tx, params.submission)));
      return findEventSubmission(tx, params.submission);
    });
    return Reply.file(requireFound(document), JSON_FILE, `telemetry-${params.submission}.json`);
  },
});
