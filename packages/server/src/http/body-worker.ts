import { parentPort } from 'node:worker_threads';
import type { ErrorCode } from '@countersign/core/contract/errors';
import type { Issue } from '@countersign/core/contract/issue';
import type { OperationId } from '@countersign/core/contract/operations';
import { ApiError } from '../api-error.ts';
import type { Asked } from '../ingest/endpoint.ts';
import { prepareBody } from './prepare-body.ts';

/** One body for the worker; its bytes are transferred. */
export interface BodyTask {
  operation: OperationId;
  asked: Omit<Asked, 'document'>;
  document: Uint8Array<ArrayBuffer>;
}

/** What the worker made of a body, with its bytes again; or the error to answer. */
export type BodyResult =
  | { prepared: unknown; document: Uint8Array<ArrayBuffer> }
  | { refused: { code: ErrorCode; issues: Issue[]; headers: Record<string, string> } }
  | { fault: unknown };

/** The worker thread that prepares large bodies: one after the other, in the order they come. */
parentPort?.on('message', ({ operation, asked, document }: BodyTask) => {
  const bytes = Buffer.from(document.buffer, document.byteOffset, document.length);
  try {
    const prepared = prepareBody(operation, { ...asked, document: bytes });
    reply({ prepared, document }, [document.buffer]);
  } catch (error) {
    if (error instanceof ApiError) reply({ refused: { code: error.code, issues: error.issues, headers: error.headers } });
    else reply({ fault: error });
  }
});

const reply = (result: BodyResult, transfer: ArrayBuffer[] = []): void => parentPort?.postMessage(result, transfer);
