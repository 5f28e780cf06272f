import { CommanderError } from 'commander';
import { DamagedCheckpointError } from '../checkpoints/memory-folder.ts';
import { BrokenSealError } from '../database/broken-seals.ts';
import { ClockUnsafeError } from '../database/clock.ts';
import { missingRightError } from '../database/missing-right.ts';
import { isDatabaseUnavailable } from '../database/pool.ts';
import { RowsNotStoredError } from '../database/stored-rows.ts';
import { EXIT_CODES, ExitError, type ExitReason } from '../errors/exit-codes.ts';
import { EvidenceBrokenError } from '../ledger/evidence-broken.ts';
import { LogRewrittenError } from '../ledger/log-tree.ts';
import { MemoryFolderError } from '../ledger/memory-folder-error.ts';
import { RuleViolationError } from '../workspace/rule-violation.ts';
import { InvalidInputError } from '../workspace/wrong-input.ts';
import { oneLine } from './table.ts';

/** Why a command failed: the name of its exit code, and one line for people. */
export interface Failure {
  reason: ExitReason;
  message: string;
}

/** Errors whose message says what the server refuses and why. */
const REFUSALS = [
  RuleViolationError,
  ClockUnsafeError,
  BrokenSealError,
  RowsNotStoredError,
  EvidenceBrokenError,
  DamagedCheckpointError,
];

/** Explains an error to the user in one line, never with a stack trace. */
export function failureOf(error: unknown): Failure {
  if (error instanceof ExitError) return { reason: error.reason, message: oneLine(error.message) };
  if (REFUSALS.some((refusal) => error instanceof refusal))
    return { reason: 'refused', message: oneLine((error as Error).message) };
  if (error instanceof LogRewrittenError)
    return { reason: 'broken', message: oneLine(`${error.message}; \`ledger verify\` says what is wrong`) };
  if (error instanceof MemoryFolderError) return { reason: 'wrong_use', message: oneLine(error.message) };
  if (error instanceof InvalidInputError) return { reason: 'wrong_use', message: oneLine(error.message) };
  if (error instanceof CommanderError) return { reason: 'wrong_use', message: commanderMessage(error.message) };
  const rightError = missingRightError(error);
  if (rightError !== undefined) return { reason: rightError.reason, message: oneLine(rightError.message) };
  const text = error instanceof Error ? error.message || error.name : String(error);
  if (isDatabaseUnavailable(error))
    return { reason: 'database_away', message: oneLine(`the database became unavailable: ${text}`) };
  return {
    reason: 'fault',
    message: oneLine(`internal error of Countersign: ${text} (COUNTERSIGN_LOG_LEVEL=debug shows where)`),
  };
}

/** Commander's message in one line. Commander writes a suggestion on a separate line in brackets. */
const commanderMessage = (message: string): string =>
  oneLine(message.replace(/^error: /, '').replace(/\s*\n\(Did you mean (.*)\)/, '; did you mean $1'));

/** The exit status of the process. */
export const statusOf = (ending: ExitReason | number): number =>
  typeof ending === 'number' ? ending : EXIT_CODES[ending].status;
