import { ApiError } from '../errors/api-error.ts';

/**
 * A file of the memory folder cannot be read or written. The request fails with 503, so that nothing depends on a checkpoint that is not
 * stored.
 */
export class MemoryFolderError extends ApiError {
  override name = 'MemoryFolderError';

  /** @param reason the code of the system error. */
  constructor(path: string, act: 'read' | 'written', reason: string) {
    super('unavailable', [], { 'Retry-After': '1' });
    this.message = `${path} in the memory folder cannot be ${act} (${reason}); give the server read and write access to the folder, and free space`;
    this.cause = this.message;
  }
}
