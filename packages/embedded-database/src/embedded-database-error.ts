/** The reason why the embedded database is not available, for programs. The message explains it to people and says what to do. */
export type EmbeddedDatabaseErrorCode =
  | 'unsupported_platform'
  | 'unreachable_folder'
  | 'foreign_folder'
  | 'no_account'
  | 'incompatible_cluster'
  | 'cluster_missing'
  | 'start_failed';

/** Thrown if the embedded PostgreSQL is not available. */
export class EmbeddedDatabaseError extends Error {
  readonly code: EmbeddedDatabaseErrorCode;

  constructor(code: EmbeddedDatabaseErrorCode, message: string) {
    super(message);
    this.name = 'EmbeddedDatabaseError';
    this.code = code;
  }
}

/** What to do after a failed system call on `path`, as a clause of a message. */
export function remedyFor(path: string, code: string | undefined): string {
  switch (code) {
    case 'EROFS':
      return `the file system of ${path} is read-only: mount it writable`;
    case 'EACCES':
    case 'EPERM':
      return `give the user of this process (uid ${process.geteuid?.()}) the right to write to it`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `the disk of ${path} is full, or its quota is used up: free space on it`;
    case 'EMFILE':
    case 'ENFILE':
      return 'too many files are open: raise the limit (ulimit -n)';
    case 'EIO':
      return `the disk of ${path} reports errors: check the system log`;
    default:
      return 'make sure that this path can be created and written';
  }
}

/** The `code` of an error, such as `ENOENT` of a failed system call, or undefined if it has none. */
export function errno(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
