import { resolve } from 'node:path';
import {
  bearerToken,
  databaseUrl,
  file,
  flag,
  hostNames,
  oneOf,
  optional,
  origin,
  passphrase,
  type Reader,
  text,
  wholeNumber,
} from './config-values.ts';

/** An environment variable that configures the server. */
export interface Variable<T> {
  name: string;
  default: string | undefined;
  meaning: string;
  read: Reader<T>;
}

const MIB = 1024 * 1024;

const variable = <T>(name: string, fallback: string | undefined, meaning: string, read: Variable<T>['read']): Variable<T> => ({
  name,
  default: fallback,
  meaning,
  read,
});

/** Every variable with its default and meaning. `--help` and docs/configuration.md use this table. */
export const VARIABLES = {
  host: variable(
    'COUNTERSIGN_HOST',
    '127.0.0.1',
    'Address to listen on. Any address other than loopback requires TLS or COUNTERSIGN_BEHIND_PROXY.',
    text,
  ),
  port: variable('COUNTERSIGN_PORT', '7300', 'Port to listen on. 0 selects a free port.', wholeNumber(0, 65_535)),
  dataDir: variable('COUNTERSIGN_DATA_DIR', './data', 'Folder of the embedded database and its secrets.', (value) =>
    resolve(value ?? './data'),
  ),
  databaseUrl: variable(
    'DATABASE_URL',
    undefined,
    'External PostgreSQL 15 or later to use instead of the embedded one: postgres://…',
    databaseUrl,
  ),
  migrateDatabaseUrl: variable(
    'COUNTERSIGN_MIGRATE_DATABASE_URL',
    undefined,
    'URL with the role that owns and migrates the tables, if the server runs as a role with fewer privileges.',
    databaseUrl,
  ),
  databaseConnections: variable(
    'COUNTERSIGN_DATABASE_CONNECTIONS',
    '8',
    'Database connections for writing, at most 200, or 32 with the embedded database. The server opens up to thirteen more: two for keys, three for sessions, four for the portal, three for the ledger and maintenance, one for retention (daily). On Citus, the server also opens up to this number for writing, and two for keys, to each node with rows.',
    wholeNumber(2, 200),
  ),
  directWrites: variable(
    'COUNTERSIGN_DIRECT_WRITES',
    'true',
    'On Citus: write records, except evaluations, and look up keys directly on the node that has the rows of the workspace. false: always through the coordinator.',
    flag,
  ),
  reportBytesMax: variable(
    'COUNTERSIGN_REPORT_BYTES_MAX',
    String(20 * MIB),
    'Maximum size of the bodies of traces, telemetry and OpenTelemetry exports after decompression, in bytes.',
    wholeNumber(1024, 512 * MIB),
  ),
  recordBytesMax: variable(
    'COUNTERSIGN_RECORD_BYTES_MAX',
    String(MIB),
    'Maximum size of other bodies after decompression, in bytes.',
    wholeNumber(1024, 32 * MIB),
  ),
  queueBytesMax: variable(
    'COUNTERSIGN_QUEUE_BYTES_MAX',
    String(64 * MIB),
    'Maximum bytes of records that wait for a commit. Further requests with records get 503.',
    wholeNumber(1, 4096 * MIB),
  ),
  readingBytesMax: variable(
    'COUNTERSIGN_READING_BYTES_MAX',
    String(128 * MIB),
    'Maximum bytes of request bodies in memory. Further requests get 503. Must be at least twice the maximum body size.',
    wholeNumber(1, 4096 * MIB),
  ),
  freeSpaceMinBytes: variable(
    'COUNTERSIGN_FREE_SPACE_MIN_BYTES',
    undefined,
    'Embedded database only: below this free disk space, new records get 503. Unset: the size that its write-ahead log and current requests may need, at most a fifth of the disk.',
    optional(wholeNumber(0, Number.MAX_SAFE_INTEGER)),
  ),
  answeringBytesMax: variable(
    'COUNTERSIGN_ANSWERING_BYTES_MAX',
    String(128 * MIB),
    'Maximum bytes of responses in memory. Further requests get 503.',
    wholeNumber(1, 4096 * MIB),
  ),
  connectionsMax: variable(
    'COUNTERSIGN_CONNECTIONS_MAX',
    '4096',
    'Maximum open connections. Further connections get 503 and are closed (with TLS they are only closed).',
    wholeNumber(1, 1_000_000),
  ),
  connectionsPerAddressMax: variable(
    'COUNTERSIGN_CONNECTIONS_PER_ADDRESS_MAX',
    undefined,
    'Maximum open connections from one address. An IPv6 network of the size /64 counts as one address. Unset: 1024, or unlimited on loopback and behind a proxy.',
    optional(wholeNumber(1, 1_000_000)),
  ),
  sendTimeoutSeconds: variable(
    'COUNTERSIGN_SEND_TIMEOUT_SECONDS',
    '30',
    'Closes a connection if the client reads nothing of its response for this long.',
    wholeNumber(1, 3600),
  ),
  metricsPort: variable(
    'COUNTERSIGN_METRICS_PORT',
    undefined,
    'Separate port on 127.0.0.1 for /metrics. 0 selects a free port.',
    optional(wholeNumber(0, 65_535)),
  ),
  metricsToken: variable(
    'COUNTERSIGN_METRICS_TOKEN',
    undefined,
    'Bearer token for /metrics, at least 16 characters. If other machines can reach the server, /metrics needs a token or a separate port. With neither, it responds with 404. File: COUNTERSIGN_METRICS_TOKEN_FILE.',
    optional(bearerToken),
  ),
  rateLimitPerMinute: variable(
    'COUNTERSIGN_RATE_LIMIT_PER_MINUTE',
    undefined,
    'Maximum requests per minute for each key and server process. Unset: unlimited.',
    optional(wholeNumber(1, 10_000_000)),
  ),
  logLevel: variable(
    'COUNTERSIGN_LOG_LEVEL',
    'info',
    'Log level: fatal, error, warn, info, debug, trace or silent.',
    oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
  ),
  tlsCert: variable(
    'COUNTERSIGN_TLS_CERT_FILE',
    undefined,
    'PEM file with the certificate chain. Together with the key file it enables HTTPS.',
    file,
  ),
  tlsKey: variable('COUNTERSIGN_TLS_KEY_FILE', undefined, 'PEM file with the private key of the certificate.', file),
  behindProxy: variable(
    'COUNTERSIGN_BEHIND_PROXY',
    'false',
    'true if a proxy terminates TLS. The server may then listen on any address without TLS.',
    flag,
  ),
  publicUrl: variable(
    'COUNTERSIGN_PUBLIC_URL',
    undefined,
    'Public URL of the portal, such as https://host, without a path. Used in one-time links and as the allowed origin of pages. Requests to other host names are rejected, except loopback, the IP address of the server and COUNTERSIGN_ALLOWED_HOSTS. Probes, and /metrics with a token, accept any host name.',
    optional(origin),
  ),
  allowedHosts: variable(
    'COUNTERSIGN_ALLOWED_HOSTS',
    undefined,
    'More allowed host names, in addition to the host of COUNTERSIGN_PUBLIC_URL, separated by commas, such as a service name in a cluster. If one of these two variables is set, requests to other host names are rejected.',
    hostNames,
  ),
  masterSecret: variable(
    'COUNTERSIGN_MASTER_SECRET',
    undefined,
    '32 bytes in base64. Decision keys and seals are derived from it. File: COUNTERSIGN_MASTER_SECRET_FILE.',
    text,
  ),
  signingKey: variable(
    'COUNTERSIGN_SIGNING_KEY',
    undefined,
    'Ed25519 private key as PKCS#8 PEM. File: COUNTERSIGN_SIGNING_KEY_FILE.',
    text,
  ),
  previousSigningKey: variable(
    'COUNTERSIGN_SIGNING_KEY_PREVIOUS',
    undefined,
    'Previous signing key during a key rotation. Both keys sign. File: COUNTERSIGN_SIGNING_KEY_PREVIOUS_FILE.',
    text,
  ),
  checkpointSeconds: variable(
    'COUNTERSIGN_CHECKPOINT_SECONDS',
    '60',
    'Minimum seconds between two periodic checkpoints of a log with new rows. 0 creates checkpoints only on request.',
    wholeNumber(0, 86_400),
  ),
  checkpointDir: variable(
    'COUNTERSIGN_CHECKPOINT_DIR',
    undefined,
    'Existing folder outside the data folder, such as a git work tree or a mounted bucket. Every checkpoint is also written there. Existing files are kept.',
    (value) => (value === undefined ? undefined : resolve(value)),
  ),
  memoryDir: variable(
    'COUNTERSIGN_MEMORY_DIR',
    undefined,
    'Folder with the newest checkpoint of each log, to detect an older state of the database after a restart. All servers of a database must share it. Do not back it up. Unset: the data folder with the suffix -memory; none with DATABASE_URL.',
    (value) => (value === undefined ? undefined : resolve(value)),
  ),
  backupPassphrase: variable(
    'COUNTERSIGN_BACKUP_PASSPHRASE',
    undefined,
    'Passphrase of at least 12 characters for `backup --with-secrets` and `restore --with-secrets`. File: COUNTERSIGN_BACKUP_PASSPHRASE_FILE.',
    optional(passphrase),
  ),
} as const;

/** Variables of the client and its command. They may be set in the same environment (packages/client). */
const CLIENT_NAMES = ['URL', 'API_KEY', 'VERIFY_KEY', 'VERIFY_KEY_FILE', 'TRUST', 'TRUST_FILE', 'PORTAL_URL'].map(
  (name) => `COUNTERSIGN_${name}`,
);

/** Variables that can be given by value or by file. */
const SECRETS = [
  VARIABLES.metricsToken,
  VARIABLES.masterSecret,
  VARIABLES.signingKey,
  VARIABLES.previousSigningKey,
  VARIABLES.backupPassphrase,
];

/** The names of all known variables. Unknown variables with the prefix COUNTERSIGN_ are reported. */
export const KNOWN_NAMES: ReadonlySet<string> = new Set([
  ...Object.values(VARIABLES).map(({ name }) => name),
  ...SECRETS.map(({ name }) => `${name}_FILE`),
  ...CLIENT_NAMES,
]);
