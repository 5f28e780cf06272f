import { BadRequestError, PayloadTooLargeError, ValidationError } from '../index.ts';

/** Whether the service rejected the content of the request. A retry would be rejected again. */
export const isContentRejection = (error: unknown): boolean =>
  (error instanceof BadRequestError || error instanceof PayloadTooLargeError || error instanceof ValidationError) &&
  error.code !== undefined; // Without a code the response came from a proxy.
