import { hash } from 'node:crypto';
import { recordedByKey } from '../ingest/ingest-request.ts';
import type { ExportRequest, ReadExport } from './export.ts';

/** The message to the sender about overwritten personal data. */
export const REDACTED =
  'A user ID that contained an email address or was a telephone number was overwritten; send an opaque identifier.';

/**
 * The members that a PreparedExport of traces and one of logs have in common. An identical body that is sent again with the same ingestion
 * key within 24 hours is treated as a retry of the same export.
 */
export function exportFacts(request: ExportRequest, read: ReadExport<unknown>) {
  const bodySha256 = hash('sha256', read.body ?? request.document, 'hex');
  const key = `${request.signal}:${request.principal.prefix}:${bodySha256}`;
  return {
    signal: request.signal,
    mediaType: request.mediaType,
    isRedacted: read.isRedacted,
    ...(read.body === undefined ? {} : { body: read.body }),
    recordedBy: recordedByKey(request.principal),
    idempotency: { key, bodySha256 },
  };
}
