/** Why there is no embedded database, for programs; the message says it for people, with the remedy. */
export type EmbeddedDatabaseErrorCode =
  | 'unsupported_platform'
  | 'unreachable_folder'
  | 'foreign_folder'
  | 'no_account'
  | 'incompatible_cluster'
  | 'cluster_missing'
  | 'start_failed';

/** The embedded PostgreSQL cannot be had. Nothing was changed that the next start would not put right. */
export class EmbeddedDatabaseError extends Error {
  readonly code: EmbeddedDatabaseErrorCode;

  constructor(code: EmbeddedDatabaseErrorCode, message: string) {
    super(message);
    this.name = 'EmbeddedDatabaseError';
    this.code = code;
  }
}

/** The errno of a failed system call (`ENOENT`, ...), or undefined. */
export function errno(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
