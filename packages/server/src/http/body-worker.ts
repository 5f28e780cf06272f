import { parentPort } from 'node:worker_threads';
import type { ErrorCode } from '@countersign/core/contract/errors';
import type { Issue } from '@countersign/core/contract/issue';
import type { OperationId } from '@countersign/core/contract/operations';
import { ApiError } from '../errors/api-error.ts';
import type { IngestRequest } from '../ingest/ingest-request.ts';
import type { ExportRequest } from '../otlp/export.ts';
import { prepareBody, prepareExport } from './prepare-body.ts';

/** A body for the worker. Its bytes are transferred to the thread, not copied. */
export type BodyTask = { document: Uint8Array<ArrayBuffer> } & (
  | { operation: OperationId; request: Omit<IngestRequest, 'document'> }
  | { operation: 'export'; request: Omit<ExportRequest, 'document'> }
);

/** The result for one body: the prepared body with its bytes, an ApiError, or an unexpected error. */
export type BodyResult =
  | { prepared: unknown; document: Uint8Array<ArrayBuffer> }
  | { rejection: { code: ErrorCode; issues: Issue[]; headers: Record<string, string> } }
  | { fault: unknown };

/** The worker thread that prepares large bodies, one after the other in the order of arrival. */
parentPort?.on('message', (task: BodyTask) => {
  const { document } = task;
  const bytes = Buffer.from(document.buffer, document.byteOffset, document.length);
  try {
    const prepared =
      task.operation === 'export'
        ? prepareExport({ ...task.request, document: bytes })
        : prepareBody(task.operation, { ...task.request, document: bytes });
    reply({ prepared, document }, [document.buffer]);
  } catch (error) {
    if (error instanceof ApiError) reply({ rejection: { code: error.code, issues: error.issues, headers: error.headers } });
    else reply({ fault: error });
  }
});

const reply = (result: BodyResult, transfer: ArrayBuffer[] = []): void => parentPort?.postMessage(result, transfer);
