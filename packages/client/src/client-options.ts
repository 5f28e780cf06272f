import { ConfigurationError } from './http/errors.ts';
import type { FetchLike } from './http/fetch-like.ts';
import { RETRY_DEFAULTS, type RetryOptions } from './http/retry-pace.ts';
import { readKey, type TransportSettings } from './http/transport.ts';
import { type OptionNames, refuseUnknown } from './known-options.ts';
import { Log, type Logger } from './log.ts';
import { positive } from './positive-option.ts';
import { environmentVariable } from './runtime/environment.ts';
import type { TelemetryOptions } from './telemetry/telemetry-options.ts';
import type { TracingOptions } from './tracing/tracing-options.ts';

/** What a client is made of. */
export interface ClientOptions {
  /**
   * Address of the service, `https://countersign.example.com`; a path before `/api` is kept. `http:` is taken for this machine alone,
   * unless `insecureHttp` says otherwise. The variable `COUNTERSIGN_URL` when left out, on Node, Bun and Deno.
   */
  baseUrl?: string | URL | undefined;
  /**
   * An ingestion key, `aa_live_…`, from a secrets manager or the environment; never in a browser. A function is asked before every
   * attempt, so that a rotated key needs no restart. The variable `COUNTERSIGN_API_KEY` when left out, on Node, Bun and Deno.
   */
  apiKey?: string | (() => string | Promise<string>) | undefined;
  /** Another `fetch` than the platform's: with a proxy or certificates of its own, or one for tests. */
  fetch?: FetchLike;
  /** Milliseconds for one attempt. Default 10,000. */
  timeoutMs?: number;
  /** Milliseconds for a whole call, all attempts and pauses included. Default 30,000. */
  deadlineMs?: number;
  /** How calls are tried again after 408, 429, 502, 503, 504 and broken connections. */
  retries?: RetryOptions;
  /** Sends the key over plain `http:` to other machines too. For networks that are trusted, and services behind a name in a CI job. */
  insecureHttp?: boolean;
  /** Where lines for people are written: attempts, what waits, what is lost. They hold no key and no body. Nothing is logged without it. */
  logger?: Logger;
  /** How emitted telemetry events are batched and kept, and what is heard of them. */
  telemetry?: TelemetryOptions;
  /** How runs are built and sent, and what is heard of those that are not. */
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

/** Checks the options and makes the transport's settings of them. Throws a ConfigurationError that names what is wrong. */
export function readOptions(options: ClientOptions): TransportSettings {
  refuseUnknown('', options, NAMES);
  refuseUnknown('retries.', options.retries ?? {}, RETRY_NAMES);
  const { fetch: given = globalThis.fetch, retries = {} } = options;
  const apiKey = options.apiKey ?? environmentVariable('COUNTERSIGN_API_KEY');
  const baseUrl = options.baseUrl ?? environmentVariable('COUNTERSIGN_URL');
  if (baseUrl === undefined) throw new ConfigurationError('baseUrl is missing: give it, or set COUNTERSIGN_URL');
  if (apiKey === undefined)
    throw new ConfigurationError('apiKey must be given, or COUNTERSIGN_API_KEY set: an ingestion key, aa_live_…');
  if (typeof given !== 'function') throw new ConfigurationError('this runtime has no fetch: give one as the option fetch');
  if (typeof apiKey !== 'function') readKey(apiKey);
  return {
    baseUrl: readBaseUrl(baseUrl, options.insecureHttp === true),
    apiKey: typeof apiKey === 'function' ? apiKey : () => apiKey,
    // Called as a plain function: the platform's own refuses another `this`.
    fetch: (url, request) => given(url, request),
    timeoutMs: positive('timeoutMs', options.timeoutMs, TIMEOUT_MS_DEFAULT),
    deadlineMs: positive('deadlineMs', options.deadlineMs, DEADLINE_MS_DEFAULT),
    retries: {
      attemptsMax: positive('retries.attemptsMax', retries.attemptsMax, RETRY_DEFAULTS.attemptsMax),
      pauseMs: positive('retries.pauseMs', retries.pauseMs, RETRY_DEFAULTS.pauseMs),
      pauseMsMax: positive('retries.pauseMsMax', retries.pauseMsMax, RETRY_DEFAULTS.pauseMsMax),
    },
    log: new Log(options.logger),
  };
}

const LOOPBACK = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

function readBaseUrl(given: string | URL, insecureHttp: boolean): string {
  const url = parsedUrl(String(given));
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new ConfigurationError(
      `baseUrl must be an address like https://countersign.example.com, got ${JSON.stringify(String(given))}`,
    );
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new ConfigurationError('baseUrl must hold no user, password, query or fragment; the key is given as apiKey');
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname) && !insecureHttp) {
    throw new ConfigurationError(
      `baseUrl ${url.origin} would send the key unencrypted: use https:, or set insecureHttp where the network is trusted`,
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
