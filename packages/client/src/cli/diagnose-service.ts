import { isThisMachine } from '../client-options.ts';
import { readText } from '../http/read-text.ts';
import type { Terminal } from './terminal.ts';

/** One result of the doctor. */
export interface Diagnosis {
  what: string;
  /** Null for a note, which is neither good nor bad. */
  ok: boolean | null;
  says: string;
  /** What to do; undefined if there is nothing to do or `says` contains it. */
  remedy?: string | undefined;
}

/** The Date header of a response, and the time before and after the request by this machine's clock. */
export interface ServiceResponse {
  date: string | null;
  sentAt: number;
  receivedAt: number;
}

/** The diagnoses of an address. */
export interface AddressDiagnosis {
  diagnoses: Diagnosis[];
  /** Undefined unless the service is ready. */
  response: ServiceResponse | undefined;
  /** Whether a key may be sent to the address: it uses TLS, it is this machine, or the user allows plain `http:`. */
  mayReceiveKey: boolean;
}

/** Checks the address, TLS, and whether Countersign responds and is ready. Sends no key. */
export async function diagnoseAddress(
  terminal: Terminal,
  address: string,
  { timeoutMs, insecureHttp }: { timeoutMs: number; insecureHttp: boolean },
): Promise<AddressDiagnosis> {
  const url = parsedUrl(address);
  if (url === undefined)
    return {
      diagnoses: [
        {
          what: 'address',
          ok: false,
          says: `${JSON.stringify(address)} is not a valid address`,
          remedy: 'give https://host or http://127.0.0.1:7300',
        },
      ],
      response: undefined,
      mayReceiveKey: false,
    };
  const tls = diagnoseTls(url, insecureHttp);
  const mayReceiveKey = tls.ok !== false;
  const sentAt = terminal.now();
  try {
    const response = await terminal.fetch(`${address}/readyz`, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
    const text = await readText(response, address);
    const receivedAt = terminal.now();
    const service = diagnoseReadiness(response, text);
    const isReady = service.ok === true;
    return {
      diagnoses: [tls, service],
      response: isReady ? { date: response.headers.get('date'), sentAt, receivedAt } : undefined,
      mayReceiveKey,
    };
  } catch (error) {
    return { diagnoses: [tls, diagnoseConnectionError(error)], response: undefined, mayReceiveKey };
  }
}

function diagnoseTls(url: URL, insecureHttp: boolean): Diagnosis {
  const { protocol, origin } = url;
  if (protocol === 'https:') return { what: 'TLS', ok: true, says: `${origin} uses TLS` };
  if (isThisMachine(url)) return { what: 'TLS', ok: true, says: 'not used, and not needed on this machine' };
  const says = `${origin} would receive the key unencrypted`;
  return insecureHttp
    ? { what: 'TLS', ok: null, says: `${says}, which --insecure-http allows` }
    : { what: 'TLS', ok: false, says, remedy: 'use https:, or give --insecure-http if you trust the network' };
}

function diagnoseReadiness(response: Response, text: string): Diagnosis {
  const what = 'service';
  if (response.status >= 300 && response.status < 400)
    return {
      what,
      ok: false,
      says: `the address redirects to ${response.headers.get('location')}`,
      remedy: 'give the final address: the key is never sent to the target of a redirect',
    };
  if (response.headers.get('x-request-id') === null || /<html/i.test(text))
    return {
      what,
      ok: false,
      says: `the response (${response.status}) is not from Countersign`,
      remedy: 'check host, port and path; a proxy or a sign-in page may be in between',
    };
  if (response.status === 404)
    return {
      what,
      ok: false,
      says: 'Countersign responds, but not at this path',
      remedy: 'give only host and port, or the path prefix that your proxy uses for the service',
    };
  if (response.status !== 200)
    return {
      what,
      ok: false,
      says: `Countersign responds but is not ready (${response.status})`,
      remedy: "its database is unavailable or not migrated to its version; see the server's log",
    };
  return { what, ok: true, says: 'Countersign responds and is ready' };
}

/** The diagnosis for an error of fetch, whose code is from the operating system, OpenSSL or Node's fetch. */
function diagnoseConnectionError(error: unknown): Diagnosis {
  const cause = ((error as Error).cause ?? error) as { code?: string; message?: string; name?: string };
  const code = cause.code ?? cause.name ?? '';
  const remedy =
    REMEDIES.find(([pattern]) => pattern.test(code))?.[1] ??
    'check the address, and whether this machine may reach it (firewall, proxy)';
  return {
    what: 'service',
    ok: false,
    says: `cannot be reached: ${[code, reasonOf(cause)].filter((each) => each !== undefined && each !== '').join(': ')}`,
    remedy,
  };
}

/** The message of an error. An OpenSSL message also lists source positions, so only its last part that contains words is returned. */
const reasonOf = ({ message = '' }: { message?: string }): string =>
  /:error:/.test(message)
    ? message
        .trim()
        .split(':')
        .findLast((part) => /[a-z] /.test(part))!
    : message;

const REMEDIES: readonly [RegExp, string][] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'the name does not resolve: check the host, and the DNS of this machine'],
  [/^ECONNREFUSED$/, 'nothing listens there: check host and port, and whether the server is running'],
  [
    /^(TimeoutError|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/,
    'no response in time: a firewall may drop the packets; --timeout allows more time',
  ],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_.*|CERT_UNTRUSTED)$/,
    'Node does not trust the certificate authority: set NODE_EXTRA_CA_CERTS to its certificate file',
  ],
  [/^CERT_HAS_EXPIRED$/, 'renew the certificate on the server, or correct the clock of this machine'],
  [/^CERT_NOT_YET_VALID$/, 'the certificate is not valid yet: the clock of this machine is probably behind'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'the certificate is for another name: use the name in the certificate'],
  [/^(EPROTO|ERR_SSL_.*)$/, 'the server probably does not use TLS there: check the port, or use http: on this machine'],
  [/^(ECONNRESET|UND_ERR_SOCKET)$/, 'the connection was closed: check whether http: or https: is right, and check any proxy'],
];

/** The clock difference in seconds above which the gate rejects decisions: the default of its option --clock-skew. */
const SKEW_SECONDS_MAX = 60;

/** Compares the clocks by the Date header of the response. */
export function diagnoseClock({ date, sentAt, receivedAt }: ServiceResponse): Diagnosis {
  const serviceTime = Date.parse(date ?? '');
  if (Number.isNaN(serviceTime))
    return { what: 'clock', ok: null, says: 'the response has no Date header, so the clocks cannot be compared' };
  // Date has whole seconds, so the actual time may be up to a second later.
  const aheadMs =
    serviceTime > receivedAt ? serviceTime - receivedAt : serviceTime + 1000 < sentAt ? serviceTime + 1000 - sentAt : 0;
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (seconds === 0) return { what: 'clock', ok: true, says: 'the clocks agree' };
  const says = `the service is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`;
  if (seconds <= SKEW_SECONDS_MAX / 2) return { what: 'clock', ok: true, says };
  const remedy = `set both clocks by NTP; above ${SKEW_SECONDS_MAX} s the gate rejects decisions`;
  return { what: 'clock', ok: seconds <= SKEW_SECONDS_MAX ? null : false, says, remedy };
}

function parsedUrl(text: string): URL | undefined {
  try {
    const url = new URL(text);
    return /^https?:$/.test(url.protocol) ? url : undefined;
  } catch {
    return undefined;
  }
}
