/** The port is only a part of the socket's name. */
export const port = 5432;

/** What PostgreSQL is started with, for a small machine. What keeps a commit through a power failure is never weakened. */
const settings = {
  listen_addresses: '',
  port: String(port),
  unix_socket_permissions: '0700',
  max_connections: '60',
  shared_buffers: '128MB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // A table that is being filled gets statistics within seconds: without them plans walk more than they need.
  autovacuum_naptime: '10s',
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  // Costs more than it saves on statements as short as ours.
  jit: 'off',
  wal_compression: 'off',
  // Nobody subscribes to anything here: one process less.
  max_logical_replication_workers: '0',
  // To standard error, which is the log file: its descriptor outlives the keeper, a pipe would not.
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
  extra: Readonly<Record<string, string>>,
): string[] {
  const all = {
    ...settings,
    unix_socket_directories: files.socketFolder,
    hba_file: files.hbaFile,
    ident_file: files.identFile,
    ...extra,
  };
  return ['-D', cluster, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/** The environment of PostgreSQL's programs: nothing of the caller's, in which PG* variables would change what they do. */
export const postgresEnvironment = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
