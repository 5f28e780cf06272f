import { isScope, SCOPES, type Scope } from '@countersign/core/contract/scopes';
import { parseKeyPrefix } from '@countersign/core/domain/ingestion-key';
import { parseDateTime } from '@countersign/core/domain/instant';
import { InvalidArgumentError, Option } from 'commander';
import { isEmailAddress } from '../people/email-address.ts';
import { InvalidInputError } from '../workspace/wrong-input.ts';

/** The options that many commands share, as arguments of `.option(...)`. */
export const JSON_OPTION = ['--json', 'machine-readable output; errors as JSON on stderr'] as const;
export const WORKSPACE_OPTION = ['--workspace <name>', 'ID of the workspace, or its name if it is unique'] as const;

/** The option for the log of a workspace; created for each command. */
export const LOG_OPTION = (): Option =>
  new Option('--log <log>', 'which log').choices(['audit', 'decisions', 'evidence', 'keys', 'traces']).default('audit');

/** The number of a row; rows are numbered from 1. */
export function parseSeq(text: string): number {
  const seq = Number(text);
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(seq))
    throw new InvalidArgumentError('Give a whole number of at least 1.');
  return seq;
}

/** Parses scopes such as `telemetry,audit`. Returns them without duplicates, in the order of the contract. */
export function parseScopes(text: string): Scope[] {
  const names = text.split(',').map((scope) => scope.trim());
  const unknown = names.find((scope) => !isScope(scope));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`${JSON.stringify(unknown)} is not a scope; give one or more of ${SCOPES.join(',')}.`);
  return SCOPES.filter((scope) => names.includes(scope));
}

/** A date-time in the future, normalized to UTC with milliseconds. */
export function parseExpiry(text: string): string {
  const microseconds = parseDateTime(text);
  if (microseconds === undefined) throw new InvalidArgumentError('Give a date-time such as 2027-01-01T00:00:00Z.');
  const milliseconds = Number(microseconds / 1000n);
  if (milliseconds <= Date.now()) throw new InvalidArgumentError('The expiry must be in the future.');
  return new Date(milliseconds).toISOString();
}

/**
 * A key's prefix, with or without `aa_live_` or `aa_read_`. The argument may be a whole key, so no message may repeat it. Therefore the
 * error is an InvalidInputError: commander would quote the argument in its own error.
 */
export function parsePrefix(text: string): string {
  const prefix = parseKeyPrefix(text);
  if (prefix !== undefined) return prefix;
  const remedy = text.includes('.')
    ? 'give only the part before the dot, never the secret'
    : '`keys list` and `tokens list` show the prefixes';
  throw new InvalidInputError(`a prefix is 12 lower-case hex digits, with or without aa_live_ or aa_read_; ${remedy}`);
}

/** An email address. */
export function parseEmail(text: string): string {
  if (isEmailAddress(text)) return text;
  throw new InvalidArgumentError('Give an email address such as ada@example.com.');
}

/** A UUID, in lower case. */
export function parseUuid(text: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) throw new InvalidArgumentError('Give a UUID of 36 characters.');
  return text.toLowerCase();
}
