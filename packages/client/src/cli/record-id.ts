import { CommandError } from './exit-codes.ts';

/** A UUID or a SHA-256 in hex. */
const ID = /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64})$/;

/**
 * The ID of a stored record in the response of the service.
 * @throws CommandError if the member is not an ID. The response is then not from Countersign, and its text must not appear in the CI log.
 */
export function recordIdOf(response: object, member: 'id' | 'row_hash'): string {
  const value = (response as Record<string, unknown>)[member];
  if (typeof value === 'string' && ID.test(value)) return value;
  throw new CommandError(
    'undecided',
    `the response is not from Countersign: it has no valid member ${member}, so the record may be missing`,
  );
}
