import { type Environment, requireTlsPair, valueOrFile, valueUnlessBlank, variableError } from './config-values.ts';
import { KNOWN_NAMES, VARIABLES, type Variable } from './variables.ts';

/** Everything that can be configured (variables.ts). This file is the only reader of the environment. */
export interface Config {
  host: string;
  port: number;
  dataDir: string;
  /** URL of an external PostgreSQL; undefined for the embedded one. */
  databaseUrl: string | undefined;
  /** URL with the role that owns and migrates the tables, if it differs from DATABASE_URL. */
  migrateDatabaseUrl: string | undefined;
  databaseConnections: number;
  /** Whether records are written, and keys looked up, directly on the nodes of Citus. */
  directWrites: boolean;
  /** Maximum bytes of a decompressed body: for traces, telemetry and OpenTelemetry exports (report), and for other operations (record). */
  reportBytesMax: number;
  recordBytesMax: number;
  /** Maximum bytes of records that wait for a commit. */
  queueBytesMax: number;
  /** Maximum bytes of request bodies in memory. */
  readingBytesMax: number;
  /** Free disk space below which new records are rejected (embedded database); undefined for the default (database/free-space.ts). */
  freeSpaceMinBytes: number | undefined;
  /** Maximum bytes of responses in memory. */
  answeringBytesMax: number;
  /** Maximum open connections in total and from one address. */
  connectionsMax: number;
  connectionsPerAddressMax: number | undefined;
  /** How long a client may read nothing of its response before its connection is closed. */
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
  /** The secrets of the environment. If they are undefined and the database is embedded, the server uses the files in its data folder. */
  masterSecret: string | undefined;
  signingKey: string | undefined;
  /** The previous signing key during a rotation. Both keys sign. */
  previousSigningKey: string | undefined;
  /** Minimum seconds between two periodic checkpoints of a log; undefined to create checkpoints only on request. */
  checkpointSeconds: number | undefined;
  /** Folder for copies of all checkpoints. */
  checkpointDir: string | undefined;
  /** Folder with the newest checkpoint of each log, outside the database and its backups. */
  memoryDir: string | undefined;
  /** Whether memoryDir was configured explicitly. If so, the folder must be usable. */
  isMemoryDirConfigured: boolean;
  /** Encrypts and decrypts the secrets in a backup. */
  backupPassphrase: string | undefined;
  /** Unknown variables that begin with COUNTERSIGN_, probably misspelled. */
  unknownVariables: string[];
}

/** Reads and validates the environment. @throws ExitError `bad_configuration` that names the variable. */
export function readConfig(environment: Environment = process.env): Config {
  const get = <T>(variable: Variable<T>): T =>
    variable.read(valueUnlessBlank(environment[variable.name]) ?? variable.default, variable.name);
  const [cert, key] = [get(VARIABLES.tlsCert), get(VARIABLES.tlsKey)];
  if ((cert === undefined) !== (key === undefined)) {
    throw variableError(
      cert === undefined ? 'COUNTERSIGN_TLS_CERT_FILE' : 'COUNTERSIGN_TLS_KEY_FILE',
      'must be set too: TLS needs both the certificate and its key',
    );
  }
  const tls = cert === undefined || key === undefined ? undefined : requireTlsPair(cert, key);
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
    isMemoryDirConfigured: get(VARIABLES.memoryDir) !== undefined,
    backupPassphrase: VARIABLES.backupPassphrase.read(
      valueOrFile(environment, VARIABLES.backupPassphrase.name)?.trim(),
      VARIABLES.backupPassphrase.name,
    ),
    unknownVariables: Object.keys(environment).filter((name) => name.startsWith('COUNTERSIGN_') && !KNOWN_NAMES.has(name)),
  };
  checkCombinations(config);
  return config;
}

/**
 * The maximum number of connections for writing to the embedded database. The database accepts 57 connections of roles that are not
 * superusers: 60, less the 3 that PostgreSQL reserves (packages/embedded-database/src/postgres-settings.ts). The server opens up to
 * thirteen connections for other purposes. The remaining connections are for commands.
 */
const EMBEDDED_CONNECTIONS_MAX = 32;

/** Checks the settings that depend on each other. Throws an ExitError that names the variable to change. */
function checkCombinations(config: Config): void {
  if (!isLoopback(config.host) && config.tls === undefined && !config.behindProxy) {
    throw variableError(
      'COUNTERSIGN_HOST',
      `is ${config.host}: any address other than loopback requires COUNTERSIGN_TLS_CERT_FILE and COUNTERSIGN_TLS_KEY_FILE, ` +
        'or COUNTERSIGN_BEHIND_PROXY=true',
    );
  }
  if (config.publicUrl?.startsWith('http:') && (config.tls !== undefined || (config.behindProxy && !hasLoopbackUrl(config)))) {
    throw variableError(
      'COUNTERSIGN_PUBLIC_URL',
      'must start with https:// because the server or the proxy terminates TLS; use http:// only for a loopback address without TLS',
    );
  }
  if (config.metricsPort === config.port && config.port !== 0) {
    throw variableError(
      'COUNTERSIGN_METRICS_PORT',
      'must differ from COUNTERSIGN_PORT; to serve /metrics on the main port, unset COUNTERSIGN_METRICS_PORT',
    );
  }
  if (config.readingBytesMax < 2 * Math.max(config.reportBytesMax, config.recordBytesMax)) {
    // Bodies of unknown length use at most half of this memory (database/admission.ts). With less memory, the largest body would always
    // get 503.
    throw variableError(
      'COUNTERSIGN_READING_BYTES_MAX',
      'must be at least twice the maximum body size (the larger of COUNTERSIGN_REPORT_BYTES_MAX and COUNTERSIGN_RECORD_BYTES_MAX)',
    );
  }
  if (config.databaseUrl === undefined && config.databaseConnections > EMBEDDED_CONNECTIONS_MAX) {
    throw variableError(
      'COUNTERSIGN_DATABASE_CONNECTIONS',
      `must be at most ${EMBEDDED_CONNECTIONS_MAX} with the embedded database; lower it, or set DATABASE_URL to your own PostgreSQL`,
    );
  }
  if (config.migrateDatabaseUrl !== undefined && config.databaseUrl === undefined) {
    throw variableError(
      'COUNTERSIGN_MIGRATE_DATABASE_URL',
      'needs DATABASE_URL too; the embedded database creates its own roles',
    );
  }
}

/** Whether a host is `localhost` or a loopback address. */
export const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);

const hasLoopbackUrl = ({ publicUrl }: Pick<Config, 'publicUrl'>): boolean =>
  publicUrl !== undefined && isLoopback(new URL(publicUrl).hostname.replace(/^\[(.*)\]$/, '$1'));
