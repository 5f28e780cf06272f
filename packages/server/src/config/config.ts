import { resolve } from 'node:path';
import {
  bearerToken,
  blankIsUnset,
  checkedTls,
  databaseUrl,
  type Environment,
  file,
  flag,
  hostNames,
  oneOf,
  optionally,
  origin,
  passphrase,
  type Reader,
  text,
  valueOrFile,
  whole,
  wrong,
} from './config-values.ts';

/** Everything that can be configured. This file is the only reader of the environment. docs/configuration.md lists the same variables. */
export interface Config {
  host: string;
  port: number;
  dataDir: string;
  /** URL of an external PostgreSQL; undefined for the embedded one. */
  databaseUrl: string | undefined;
  /** URL with the role that owns and migrates the tables, if it differs from DATABASE_URL. */
  migrateDatabaseUrl: string | undefined;
  databaseConnections: number;
  /** Whether records are written directly to the nodes of Citus. */
  directWrites: boolean;
  /** Maximum size of decompressed bodies by kind of operation. */
  reportBytesMax: number;
  recordBytesMax: number;
  /** Maximum bytes of records that wait for a commit. */
  queueBytesMax: number;
  /** Maximum bytes of request bodies in memory. */
  readingBytesMax: number;
  /** Free disk space below which new records are rejected (embedded database); undefined to derive it from the disk size. */
  freeSpaceMinBytes: number | undefined;
  /** Maximum bytes of responses in memory. */
  answeringBytesMax: number;
  /** Maximum open connections in total and from one address. */
  connectionsMax: number;
  connectionsPerAddressMax: number | undefined;
  /** Time until a connection is closed whose client does not read its response. */
  sendTimeoutSeconds: number;
  /** Separate port on loopback for /metrics; undefined for the main port. */
  metricsPort: number | undefined;
  /** Bearer token for /metrics. */
  metricsToken: string | undefined;
  /** Maximum requests per minute and key; undefined for no limit. */
  rateLimitPerMinute: number | undefined;
  logLevel: string;
  tls: { cert: string; key: string } | undefined;
  behindProxy: boolean;
  /** Public origin of the portal, if it differs from host and port. */
  publicUrl: string | undefined;
  /** Additional allowed host names. */
  allowedHosts: string[];
  /** Undefined if not given; the embedded database then creates its own. */
  masterSecret: string | undefined;
  signingKey: string | undefined;
  /** The previous signing key during a rotation. Both keys sign. */
  previousSigningKey: string | undefined;
  /** Minimum time between two checkpoints of a log; undefined to create checkpoints only on request. */
  checkpointSeconds: number | undefined;
  /** Folder for copies of all checkpoints. */
  checkpointDir: string | undefined;
  /** Folder with the newest checkpoint of each log, outside the database and its backups. */
  memoryDir: string | undefined;
  /** Whether memoryDir was configured explicitly. It must be usable then. */
  memoryDirNamed: boolean;
  /** Encrypts and decrypts the secrets in a backup. */
  backupPassphrase: string | undefined;
  /** Unknown variables with our prefix, probably misspelled. */
  unknownVariables: string[];
}

interface Variable<T> {
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
  port: variable('COUNTERSIGN_PORT', '7300', 'Port to listen on. 0 selects a free port.', whole(0, 65_535)),
  dataDir: variable('COUNTERSIGN_DATA_DIR', './data', 'Folder of the embedded database and its secrets.', (given) =>
    resolve(given ?? './data'),
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
    'Database connections for writing. The server opens up to twelve more: two for keys, three for sessions, four for the portal, three for the ledger and maintenance. On Citus this is also the maximum for each node with rows.',
    whole(2, 200),
  ),
  directWrites: variable(
    'COUNTERSIGN_DIRECT_WRITES',
    'true',
    'On Citus: write records directly to the node that has the rows of the workspace. false: the coordinator forwards all of them.',
    flag,
  ),
  reportBytesMax: variable(
    'COUNTERSIGN_REPORT_BYTES_MAX',
    String(20 * MIB),
    'Maximum size of trace and telemetry bodies after decompression, in bytes.',
    whole(1024, 512 * MIB),
  ),
  recordBytesMax: variable(
    'COUNTERSIGN_RECORD_BYTES_MAX',
    String(MIB),
    'Maximum size of other bodies after decompression, in bytes.',
    whole(1024, 32 * MIB),
  ),
  queueBytesMax: variable(
    'COUNTERSIGN_QUEUE_BYTES_MAX',
    String(64 * MIB),
    'Maximum bytes of records that wait for a commit. More get 503.',
    whole(1, 4096 * MIB),
  ),
  readingBytesMax: variable(
    'COUNTERSIGN_READING_BYTES_MAX',
    String(128 * MIB),
    'Maximum bytes of request bodies in memory. More get 503. At least twice the maximum body size.',
    whole(1, 4096 * MIB),
  ),
  freeSpaceMinBytes: variable(
    'COUNTERSIGN_FREE_SPACE_MIN_BYTES',
    undefined,
    'Embedded database only: below this free disk space, new records get 503. Unset: the size that its write-ahead log and current requests may need, at most a fifth of the disk.',
    optionally(whole(0, Number.MAX_SAFE_INTEGER)),
  ),
  answeringBytesMax: variable(
    'COUNTERSIGN_ANSWERING_BYTES_MAX',
    String(128 * MIB),
    'Maximum bytes of responses in memory. More get 503.',
    whole(1, 4096 * MIB),
  ),
  connectionsMax: variable(
    'COUNTERSIGN_CONNECTIONS_MAX',
    '4096',
    'Maximum open connections. More get 503 and are closed (with TLS they are only closed).',
    whole(1, 1_000_000),
  ),
  connectionsPerAddressMax: variable(
    'COUNTERSIGN_CONNECTIONS_PER_ADDRESS_MAX',
    undefined,
    'Maximum open connections from one address. Unset: 1024, or unlimited on loopback and behind a proxy.',
    optionally(whole(1, 1_000_000)),
  ),
  sendTimeoutSeconds: variable(
    'COUNTERSIGN_SEND_TIMEOUT_SECONDS',
    '30',
    'Closes a connection if the client reads nothing of its response for this long.',
    whole(1, 3600),
  ),
  metricsPort: variable(
    'COUNTERSIGN_METRICS_PORT',
    undefined,
    'Separate port on 127.0.0.1 for /metrics. 0 selects a free port.',
    optionally(whole(0, 65_535)),
  ),
  metricsToken: variable(
    'COUNTERSIGN_METRICS_TOKEN',
    undefined,
    'Bearer token for /metrics, at least 16 characters. If the server is reachable from other machines, /metrics is 404 without a token or a separate port. File: COUNTERSIGN_METRICS_TOKEN_FILE.',
    optionally(bearerToken),
  ),
  rateLimitPerMinute: variable(
    'COUNTERSIGN_RATE_LIMIT_PER_MINUTE',
    undefined,
    'Maximum requests per minute for each key and server process. Unset: unlimited.',
    optionally(whole(1, 10_000_000)),
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
    'Public URL of the portal: https://host without a path. Used in one-time links and as the allowed origin of pages. Requests to other hosts are rejected.',
    optionally(origin),
  ),
  allowedHosts: variable(
    'COUNTERSIGN_ALLOWED_HOSTS',
    undefined,
    'Additional allowed host names, separated by commas, such as a service name in a cluster.',
    hostNames,
  ),
  masterSecret: variable(
    'COUNTERSIGN_MASTER_SECRET',
    undefined,
    '32 bytes in base64. Decision keys are derived from it. File: COUNTERSIGN_MASTER_SECRET_FILE.',
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
    'Minimum time between two checkpoints of a log with new rows. 0 creates checkpoints only on request.',
    whole(0, 86_400),
  ),
  checkpointDir: variable(
    'COUNTERSIGN_CHECKPOINT_DIR',
    undefined,
    'Existing folder outside the data folder, such as a git work tree or a mounted bucket. Every checkpoint is also written there. Files are never overwritten.',
    (given) => (given === undefined ? undefined : resolve(given)),
  ),
  memoryDir: variable(
    'COUNTERSIGN_MEMORY_DIR',
    undefined,
    'Folder with the newest checkpoint of each log, to detect an older state of the database after a restart. All servers of a database share it. Do not back it up. Unset: the data folder with the suffix -memory; none with DATABASE_URL.',
    (given) => (given === undefined ? undefined : resolve(given)),
  ),
  backupPassphrase: variable(
    'COUNTERSIGN_BACKUP_PASSPHRASE',
    undefined,
    'Passphrase of at least 12 characters for `backup --with-secrets` and `restore --with-secrets`. File: COUNTERSIGN_BACKUP_PASSPHRASE_FILE.',
    optionally(passphrase),
  ),
} as const;

/** Variables of the client and its command. They may be set in the same environment (packages/client). */
const CLIENT_NAMES = ['URL', 'API_KEY', 'VERIFY_KEY', 'VERIFY_KEY_FILE', 'PORTAL_URL'].map((name) => `COUNTERSIGN_${name}`);

/** Variables that can be given by value or by file. */
const SECRETS = [
  VARIABLES.metricsToken,
  VARIABLES.masterSecret,
  VARIABLES.signingKey,
  VARIABLES.previousSigningKey,
  VARIABLES.backupPassphrase,
];

const KNOWN_NAMES: ReadonlySet<string> = new Set([
  ...Object.values(VARIABLES).map(({ name }) => name),
  ...SECRETS.map(({ name }) => `${name}_FILE`),
  ...CLIENT_NAMES,
]);

/** Reads and validates the environment. Throws an ExitError that names the variable. */
export function readConfig(environment: Environment = process.env): Config {
  const get = <T>(variable: Variable<T>): T =>
    variable.read(blankIsUnset(environment[variable.name]) ?? variable.default, variable.name);
  const [cert, key] = [get(VARIABLES.tlsCert), get(VARIABLES.tlsKey)];
  if ((cert === undefined) !== (key === undefined)) {
    throw wrong(
      cert === undefined ? 'COUNTERSIGN_TLS_CERT_FILE' : 'COUNTERSIGN_TLS_KEY_FILE',
      'must be set too: TLS needs both the certificate and its key',
    );
  }
  const tls = cert === undefined || key === undefined ? undefined : checkedTls(cert, key);
  const config: Config = {
    host: get(VARIABLES.host) ?? '127.0.0.1',
    port: get(VARIABLES.port),
    dataDir: get(VARIABLES.dataDir),
    databaseUrl: get(VARIABLES.databaseUrl),
    migrateDatabaseUrl: get(VARIABLES.migrateDatabaseUrl),
    databaseConnections: get(VARIABLES.databaseConnections),
    directWrites: get(VARIABLES.directWrites),
    reportBytesMax: get(VARIABLES.reportBytesMax),
    recordBytesMax: get(VARIABLES.recordBytesMax),
    queueBytesMax: get(VARIABLES.queueBytesMax),
    readingBytesMax: get(VARIABLES.readingBytesMax),
    freeSpaceMinBytes: get(VARIABLES.freeSpaceMinBytes),
    answeringBytesMax: get(VARIABLES.answeringBytesMax),
    connectionsMax: get(VARIABLES.connectionsMax),
    connectionsPerAddressMax: get(VARIABLES.connectionsPerAddressMax),
    sendTimeoutSeconds: get(VARIABLES.sendTimeoutSeconds),
    metricsPort: get(VARIABLES.metricsPort),
    metricsToken: VARIABLES.metricsToken.read(
      valueOrFile(environment, VARIABLES.metricsToken.name)?.trim(),
      VARIABLES.metricsToken.name,
    ),
    rateLimitPerMinute: get(VARIABLES.rateLimitPerMinute),
    logLevel: get(VARIABLES.logLevel),
    tls,
    behindProxy: get(VARIABLES.behindProxy),
    publicUrl: get(VARIABLES.publicUrl),
    allowedHosts: get(VARIABLES.allowedHosts),
    masterSecret: valueOrFile(environment, VARIABLES.masterSecret.name),
    signingKey: valueOrFile(environment, VARIABLES.signingKey.name),
    previousSigningKey: valueOrFile(environment, VARIABLES.previousSigningKey.name),
    checkpointSeconds: get(VARIABLES.checkpointSeconds) || undefined,
    checkpointDir: get(VARIABLES.checkpointDir),
    memoryDir:
      get(VARIABLES.memoryDir) ?? (get(VARIABLES.databaseUrl) === undefined ? `${get(VARIABLES.dataDir)}-memory` : undefined),
    memoryDirNamed: get(VARIABLES.memoryDir) !== undefined,
    backupPassphrase: VARIABLES.backupPassphrase.read(
      valueOrFile(environment, VARIABLES.backupPassphrase.name)?.trim(),
      VARIABLES.backupPassphrase.name,
    ),
    unknownVariables: Object.keys(environment).filter((name) => name.startsWith('COUNTERSIGN_') && !KNOWN_NAMES.has(name)),
  };
  if (!isLoopback(config.host) && config.tls === undefined && !config.behindProxy) {
    throw wrong(
      'COUNTERSIGN_HOST',
      `is ${config.host}: beyond loopback, set COUNTERSIGN_TLS_CERT_FILE and COUNTERSIGN_TLS_KEY_FILE, or COUNTERSIGN_BEHIND_PROXY=true`,
    );
  }
  if (config.metricsPort === config.port && config.port !== 0) {
    throw wrong('COUNTERSIGN_METRICS_PORT', 'must differ from COUNTERSIGN_PORT; leave it unset to serve /metrics there');
  }
  if (config.readingBytesMax < 2 * Math.max(config.reportBytesMax, config.recordBytesMax)) {
    // Otherwise a body of the largest size would always get 503.
    throw wrong('COUNTERSIGN_READING_BYTES_MAX', 'must be at least twice the largest body (COUNTERSIGN_REPORT_BYTES_MAX)');
  }
  if (config.migrateDatabaseUrl !== undefined && config.databaseUrl === undefined) {
    throw wrong(
      'COUNTERSIGN_MIGRATE_DATABASE_URL',
      'needs DATABASE_URL beside it; the embedded database makes both roles itself',
    );
  }
  return config;
}

/** Whether an address stays on this machine. */
export const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
