import { hash } from 'node:crypto';
import { recordedByKey } from '../ingest/endpoint.ts';
import type { ExportRequest, ReadExport } from './export.ts';

/** What is said of personal data in an answer. */
export const REDACTED = 'A user id was an e-mail address or a telephone number and was overwritten; send an opaque identifier.';

/** What all exports have in common. */
export const exportFacts = (request: ExportRequest, read: ReadExport<unknown>) => ({
  signal: request.signal,
  mediaType: request.mediaType,
  isRedacted: read.isRedacted,
  ...(read.body === undefined ? {} : { body: read.body }),
  recordedBy: recordedByKey(request.principal),
  idempotency: { key: exportKey(request, read), bodySha256: bodyHash(request, read) },
});

/** Names a body of a key: an identical one within 24 hours is the same export, sent again because its answer was lost. */
export const exportKey = (request: ExportRequest, read: ReadExport<unknown>): string =>
  `${request.signal}:${request.principal.prefix}:${bodyHash(request, read)}`;

const bodyHash = ({ document }: ExportRequest, { body }: ReadExport<unknown>): string => hash('sha256', body ?? document, 'hex');
