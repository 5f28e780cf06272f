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
  type Reader,
  text,
  valueOrFile,
  whole,
  wrong,
} from './config-values.ts';

/** Everything that can be configured. This file is the only reader of the environment; README "Configuration" lists the same table. */
export interface Config {
  host: string;
  port: number;
  dataDir: string;
  /** Outside PostgreSQL; undefined for the embedded one. */
  databaseUrl: string | undefined;
  /** The role that owns and migrates the tables, where it is another than DATABASE_URL's. */
  migrateDatabaseUrl: string | undefined;
  databaseConnections: number;
  /** Largest body in bytes, decompressed, by kind of operation. */
  reportBytesMax: number;
  recordBytesMax: number;
  /** Bytes that may wait for their commit; beyond, 503. */
  queueBytesMax: number;
  /** Bytes of bodies that may be under way in memory; beyond, 503. */
  readingBytesMax: number;
  /** Free space below which growth is refused, with the embedded database; undefined for a floor made from the size of the disk. */
  freeSpaceMinBytes: number | undefined;
  /** Bytes of responses that may be in memory; beyond, 503. */
  answeringBytesMax: number;
  /** Open connections, in all and from one address; beyond, 503. No bound by address where it is undefined. */
  connectionsMax: number;
  connectionsPerAddressMax: number | undefined;
  /** Time after which a connection is ended whose peer reads nothing of its response. */
  sendTimeoutSeconds: number;
  /** Where /metrics is served: undefined for the port of everything else, otherwise a port of its own on loopback. */
  metricsPort: number | undefined;
  /** What /metrics asks for, wherever it is served. */
  metricsToken: string | undefined;
  /** Requests per minute and key; undefined for no limit. */
  rateLimitPerMinute: number | undefined;
  logLevel: string;
  tls: { cert: string; key: string } | undefined;
  behindProxy: boolean;
  /** Origin at which people reach the portal, where it is another than that of host and port. */
  publicUrl: string | undefined;
  /** Host names besides the public one that requests may be addressed to. */
  allowedHosts: string[];
  /** As given; undefined where none is (the embedded database then makes its own). */
  masterSecret: string | undefined;
  signingKey: string | undefined;
  /** The key before, while one follows the other: both sign. */
  previousSigningKey: string | undefined;
  /** How old a log's last checkpoint may be before the next is made; undefined for only those that are asked for. */
  checkpointSeconds: number | undefined;
  /** Folder that every checkpoint is written to as well. */
  checkpointDir: string | undefined;
  /** Folder that remembers the newest checkpoint of each log, outside the database and its backups. */
  memoryDir: string | undefined;
  /** Whether the folder was named, and not taken by default: then it must be usable. */
  memoryDirNamed: boolean;
  /** Variables that are named like ours and are none: most likely misspelt. */
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

/** Every variable, its default and its meaning: `--help` and the README's table are made of this. */
export const VARIABLES = {
  host: variable(
    'COUNTERSIGN_HOST',
    '127.0.0.1',
    'Address to listen on. Beyond loopback only with TLS, or behind a proxy that ends it.',
    text,
  ),
  port: variable('COUNTERSIGN_PORT', '7300', 'Port to listen on; 0 takes a free one.', whole(0, 65_535)),
  dataDir: variable(
    'COUNTERSIGN_DATA_DIR',
    './data',
    'Folder of the embedded database and of the secrets made for it.',
    (given) => resolve(given ?? './data'),
  ),
  databaseUrl: variable(
    'DATABASE_URL',
    undefined,
    'PostgreSQL 15 or later to use instead of the embedded one: postgres://…',
    databaseUrl,
  ),
  migrateDatabaseUrl: variable(
    'COUNTERSIGN_MIGRATE_DATABASE_URL',
    undefined,
    'The role that owns and migrates the tables, when the server itself is to run with fewer rights.',
    databaseUrl,
  ),
  databaseConnections: variable(
    'COUNTERSIGN_DATABASE_CONNECTIONS',
    '8',
    'Connections for writing; beside them two look up keys and up to three sessions, four read for the portal and three for the record and its upkeep.',
    whole(2, 200),
  ),
  reportBytesMax: variable(
    'COUNTERSIGN_REPORT_BYTES_MAX',
    String(20 * MIB),
    'Largest body of traces and telemetry, in bytes, decompressed.',
    whole(1024, 512 * MIB),
  ),
  recordBytesMax: variable(
    'COUNTERSIGN_RECORD_BYTES_MAX',
    String(MIB),
    'Largest body of the other endpoints, in bytes, decompressed.',
    whole(1024, 32 * MIB),
  ),
  queueBytesMax: variable(
    'COUNTERSIGN_QUEUE_BYTES_MAX',
    String(64 * MIB),
    'Bytes that may wait for their commit; beyond, 503.',
    whole(1, 4096 * MIB),
  ),
  readingBytesMax: variable(
    'COUNTERSIGN_READING_BYTES_MAX',
    String(128 * MIB),
    'Bytes of bodies that may be in memory; beyond, 503. At least twice the largest body.',
    whole(1, 4096 * MIB),
  ),
  freeSpaceMinBytes: variable(
    'COUNTERSIGN_FREE_SPACE_MIN_BYTES',
    undefined,
    'Embedded database: with less free space on its disk, new records are refused with 503. When unset, what its log and the bodies under way may need, a fifth of the disk at most.',
    optionally(whole(0, Number.MAX_SAFE_INTEGER)),
  ),
  answeringBytesMax: variable(
    'COUNTERSIGN_ANSWERING_BYTES_MAX',
    String(128 * MIB),
    'Bytes of responses that may be in memory; beyond, 503.',
    whole(1, 4096 * MIB),
  ),
  connectionsMax: variable(
    'COUNTERSIGN_CONNECTIONS_MAX',
    '4096',
    'Open connections; beyond, 503 and closed (with TLS, closed).',
    whole(1, 1_000_000),
  ),
  connectionsPerAddressMax: variable(
    'COUNTERSIGN_CONNECTIONS_PER_ADDRESS_MAX',
    undefined,
    'Open connections from one address. Unset: 1024, and no bound on loopback or behind a proxy, where all come from one address.',
    optionally(whole(1, 1_000_000)),
  ),
  sendTimeoutSeconds: variable(
    'COUNTERSIGN_SEND_TIMEOUT_SECONDS',
    '30',
    'A connection is ended whose peer reads nothing of its response for so long.',
    whole(1, 3600),
  ),
  metricsPort: variable(
    'COUNTERSIGN_METRICS_PORT',
    undefined,
    'Port on 127.0.0.1 that serves /metrics instead of the one above; 0 takes a free one.',
    optionally(whole(0, 65_535)),
  ),
  metricsToken: variable(
    'COUNTERSIGN_METRICS_TOKEN',
    undefined,
    'Bearer token that /metrics asks for, at least 16 characters. Beyond loopback, behind a proxy or with the host name of another machine, /metrics is 404 without a token or a port of its own. Or its file: COUNTERSIGN_METRICS_TOKEN_FILE.',
    optionally(bearerToken),
  ),
  rateLimitPerMinute: variable(
    'COUNTERSIGN_RATE_LIMIT_PER_MINUTE',
    undefined,
    'Requests per minute, key and server process. No limit when unset.',
    optionally(whole(1, 10_000_000)),
  ),
  logLevel: variable(
    'COUNTERSIGN_LOG_LEVEL',
    'info',
    'fatal, error, warn, info, debug, trace or silent.',
    oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
  ),
  tlsCert: variable(
    'COUNTERSIGN_TLS_CERT_FILE',
    undefined,
    'PEM file with the certificate chain; with the key file, the server speaks HTTPS.',
    file,
  ),
  tlsKey: variable('COUNTERSIGN_TLS_KEY_FILE', undefined, 'PEM file with the private key of the certificate.', file),
  behindProxy: variable(
    'COUNTERSIGN_BEHIND_PROXY',
    'false',
    'true when TLS ends in front of the server: it may then listen beyond loopback without TLS.',
    flag,
  ),
  publicUrl: variable(
    'COUNTERSIGN_PUBLIC_URL',
    undefined,
    'Where people reach the portal, https://host without a path: one-time links begin with it, its pages may ask for changes, and requests to other hosts are refused.',
    optionally(origin),
  ),
  allowedHosts: variable(
    'COUNTERSIGN_ALLOWED_HOSTS',
    undefined,
    "Host names, separated by commas, that requests may be addressed to besides COUNTERSIGN_PUBLIC_URL's, such as that of a service inside a cluster.",
    hostNames,
  ),
  masterSecret: variable(
    'COUNTERSIGN_MASTER_SECRET',
    undefined,
    '32 bytes in base64: decision keys are derived from it. Or its file: COUNTERSIGN_MASTER_SECRET_FILE.',
    text,
  ),
  signingKey: variable(
    'COUNTERSIGN_SIGNING_KEY',
    undefined,
    'Ed25519 private key, PKCS#8 PEM. Or its file: COUNTERSIGN_SIGNING_KEY_FILE.',
    text,
  ),
  previousSigningKey: variable(
    'COUNTERSIGN_SIGNING_KEY_PREVIOUS',
    undefined,
    'The signing key before this one, while one follows the other: both sign. Or its file: COUNTERSIGN_SIGNING_KEY_PREVIOUS_FILE.',
    text,
  ),
  checkpointSeconds: variable(
    'COUNTERSIGN_CHECKPOINT_SECONDS',
    '60',
    'A checkpoint is made when rows came and the last one is older than this; 0 makes only those that are asked for.',
    whole(0, 86_400),
  ),
  checkpointDir: variable(
    'COUNTERSIGN_CHECKPOINT_DIR',
    undefined,
    'Folder outside the data (a git work tree, a mounted bucket) that every checkpoint is written to as well, never over another; it must be there at the start.',
    (given) => (given === undefined ? undefined : resolve(given)),
  ),
  memoryDir: variable(
    'COUNTERSIGN_MEMORY_DIR',
    undefined,
    "Folder that remembers the newest checkpoint of each log, so that an older state of the database is noticed after a restart. Shared by all servers of a database, and in no backup of it. Unset: with the embedded database the data folder's name with -memory, beside it; with DATABASE_URL none.",
    (given) => (given === undefined ? undefined : resolve(given)),
  ),
} as const;

/** Variables of the client and its command, which may stand in the same environment (packages/client). */
const CLIENT_NAMES = ['URL', 'API_KEY', 'VERIFY_KEY', 'VERIFY_KEY_FILE', 'PORTAL_URL'].map((name) => `COUNTERSIGN_${name}`);

/** Those that are given by value or by a file. */
const SECRETS = [VARIABLES.metricsToken, VARIABLES.masterSecret, VARIABLES.signingKey, VARIABLES.previousSigningKey];

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
    // A body for which there is never room would be answered 503 for ever.
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
