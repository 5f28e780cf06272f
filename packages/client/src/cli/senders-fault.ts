import { BadRequestError, PayloadTooLargeError, ValidationError } from '../index.ts';

/** Whether the service refuses what was sent for its content: sent again, it would be refused again. */
export const isSendersFault = (error: unknown): boolean =>
  (error instanceof BadRequestError || error instanceof PayloadTooLargeError || error instanceof ValidationError) &&
  error.code !== undefined; // without one, something in between has answered
