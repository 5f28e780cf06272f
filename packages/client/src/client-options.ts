import { ConfigurationError } from './http/errors.ts';
import type { FetchLike } from './http/fetch-like.ts';
import { RETRY_DEFAULTS, type RetryOptions } from './http/retry-pace.ts';
import { readKey, type TransportSettings } from './http/transport.ts';
import { type OptionNames, rejectUnknownOption } from './known-options.ts';
import { Log, type Logger } from './log.ts';
import { positiveOption } from './positive-option.ts';
import { environmentVariable } from './runtime/environment.ts';
import type { TelemetryOptions } from './telemetry/telemetry-options.ts';
import type { TracingOptions } from './tracing/tracing-options.ts';

/** The options of a client. */
export interface ClientOptions {
  /**
   * Address of the service, `https://countersign.example.com`. It may have a path, which precedes `/api`. `http:` is accepted only for
   * this machine, unless `insecureHttp` is set. Default on Node, Bun and Deno: the variable `COUNTERSIGN_URL`.
   */
  baseUrl?: string | URL | undefined;
  /**
   * An ingestion key, `aa_live_…`, from a secrets manager or the environment; never in a browser. A function is called before every
   * attempt, so that a rotated key needs no restart. Default on Node, Bun and Deno: the variable `COUNTERSIGN_API_KEY`.
   */
  apiKey?: string | (() => string | Promise<string>) | undefined;
  /** Replaces the platform's `fetch`, for example to use a proxy, your own certificates, or a fake in tests. */
  fetch?: FetchLike;
  /** Time limit of one attempt, in milliseconds. Default 10,000. */
  timeoutMs?: number;
  /** Time limit of a whole call with all attempts and pauses, in milliseconds. Default 30,000. */
  deadlineMs?: number;
  /** How calls are retried after 408, 429, 502, 503, 504, timeouts and broken connections. */
  retries?: RetryOptions;
  /** Allows plain `http:` to other machines too. Only for networks that you trust. */
  insecureHttp?: boolean;
  /**
   * Receives log lines about attempts, queues and losses. They contain no key. They contain no body, unless your own `fetch` or `apiKey`
   * function quotes it in an error. Default: no log.
   */
  logger?: Logger;
  /** How telemetry events are batched and queued, and callbacks for failures. */
  telemetry?: TelemetryOptions;
  /** How runs are built and sent, and callbacks for failures. */
  traces?: TracingOptions;
}

const NAMES: OptionNames<ClientOptions> = {
  baseUrl: true,
  apiKey: true,
  fetch: true,
  timeoutMs: true,
  deadlineMs: true,
  retries: true,
  insecureHttp: true,
  logger: true,
  telemetry: true,
  traces: true,
};
const RETRY_NAMES: OptionNames<RetryOptions> = { attemptsMax: true, pauseMs: true, pauseMsMax: true };

const TIMEOUT_MS_DEFAULT = 10_000;
const DEADLINE_MS_DEFAULT = 30_000;

/** Checks the options and returns the settings of the transport. Throws a ConfigurationError that names the wrong option. */
export function readOptions(options: ClientOptions): TransportSettings {
  rejectUnknownOption('', options, NAMES);
  const { fetch: fetchOption = globalThis.fetch, retries = {} } = options;
  rejectUnknownOption('retries.', retries, RETRY_NAMES);
  const apiKey = options.apiKey ?? environmentVariable('COUNTERSIGN_API_KEY');
  const baseUrl = options.baseUrl ?? environmentVariable('COUNTERSIGN_URL');
  if (baseUrl === undefined) throw new ConfigurationError('baseUrl is missing: set it or COUNTERSIGN_URL');
  if (apiKey === undefined)
    throw new ConfigurationError('apiKey must be an ingestion key, aa_live_…: set it or COUNTERSIGN_API_KEY');
  if (typeof fetchOption !== 'function') throw new ConfigurationError('this runtime has no fetch: set the option fetch');
  if (typeof apiKey !== 'function') readKey(apiKey);
  return {
    baseUrl: readBaseUrl(baseUrl, options.insecureHttp === true),
    apiKey: typeof apiKey === 'function' ? apiKey : () => apiKey,
    // Called as a method, the platform's fetch would throw, because `this` would be another object.
    fetch: (url, request) => fetchOption(url, request),
    timeoutMs: positiveOption('timeoutMs', options.timeoutMs, TIMEOUT_MS_DEFAULT),
    deadlineMs: positiveOption('deadlineMs', options.deadlineMs, DEADLINE_MS_DEFAULT),
    retries: {
      attemptsMax: positiveOption('retries.attemptsMax', retries.attemptsMax, RETRY_DEFAULTS.attemptsMax),
      pauseMs: positiveOption('retries.pauseMs', retries.pauseMs, RETRY_DEFAULTS.pauseMs),
      pauseMsMax: positiveOption('retries.pauseMsMax', retries.pauseMsMax, RETRY_DEFAULTS.pauseMsMax),
    },
    log: new Log(options.logger),
  };
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Whether the host of a URL is this machine. Keys for this machine need no encryption. Names below `.localhost` do not count, because many
 * systems look them up in DNS.
 */
export const isThisMachine = ({ hostname }: URL): boolean => LOOPBACK.test(hostname);

function readBaseUrl(baseUrl: string | URL, insecureHttp: boolean): string {
  const url = parsedUrl(String(baseUrl));
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new ConfigurationError(
      `baseUrl must be an address like https://countersign.example.com, got ${JSON.stringify(String(baseUrl))}`,
    );
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new ConfigurationError('baseUrl must not contain a user, password, query or fragment; the key belongs in apiKey');
  if (url.protocol === 'http:' && !isThisMachine(url) && !insecureHttp) {
    throw new ConfigurationError(
      `baseUrl ${url.origin} would send the key unencrypted: use https:, or set insecureHttp if you trust the network`,
    );
  }
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
