/** The port. It is only part of the socket's name, because PostgreSQL does not listen on TCP. */
export const port = 5432;

const MIB = 1024 * 1024;

/** Limits of `max_wal_size`. On a small disk, the write-ahead log must leave space for the data. */
const LARGEST_WAL_BYTES = 2048 * MIB;
const SMALLEST_WAL_BYTES = 64 * MIB;

/** The setting `max_wal_size` for a disk of this size, in bytes: a sixteenth of the disk, from 64 MiB to 2 GiB. */
export const maxWalBytes = (diskBytes: number): number =>
  Math.min(LARGEST_WAL_BYTES, Math.max(SMALLEST_WAL_BYTES, diskBytes / 16));

/** Settings for a small machine. The settings that protect commits from a power failure have their safe values. */
const settings = {
  listen_addresses: '',
  port: String(port),
  unix_socket_permissions: '0700',
  max_connections: '60',
  shared_buffers: '128MB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // A growing table gets statistics within seconds. Without them, plans read more rows than needed.
  autovacuum_naptime: '10s',
  checkpoint_timeout: '15min',
  // JIT compilation costs more time than it saves for short statements.
  jit: 'off',
  wal_compression: 'off',
  // Logical replication is not used. Without its workers, PostgreSQL does not start the process that launches them.
  max_logical_replication_workers: '0',
  // Standard error is the log file. Its descriptor stays open when the keeper ends; a pipe would break.
  logging_collector: 'off',
  log_destination: 'stderr',
  log_checkpoints: 'off',
  log_line_prefix: '%m [%p] %q%u ',
  log_timezone: 'UTC',
  timezone: 'UTC',
  lc_messages: 'C',
};

/** The arguments of `postgres`. */
export function postgresArguments(
  cluster: string,
  files: { socketFolder: string; hbaFile: string; identFile: string },
  diskBytes: number,
  extra: Readonly<Record<string, string>>,
): string[] {
  const maxWalMib = Math.floor(maxWalBytes(diskBytes) / MIB);
  const all = {
    ...settings,
    max_wal_size: `${maxWalMib}MB`,
    // PostgreSQL keeps 80 MB of old files for reuse by default.
    min_wal_size: `${Math.min(80, Math.floor(maxWalMib / 2))}MB`,
    unix_socket_directories: files.socketFolder,
    hba_file: files.hbaFile,
    ident_file: files.identFile,
    ...extra,
  };
  return ['-D', cluster, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/** The environment of PostgreSQL's programs. It has no variables of the caller, because PG* variables would change their behavior. */
export const postgresEnvironment = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
