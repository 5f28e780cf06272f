import type { Terminal } from './terminal.ts';

/** One finding of the doctor. */
export interface Diagnosis {
  what: string;
  /** Null for what is neither good nor bad. */
  ok: boolean | null;
  says: string;
  /** What to do; undefined when nothing is to be done, or `says` says it. */
  remedy?: string | undefined;
}

/** The service's answer, with this machine's clock around it. */
export interface Reached {
  date: string | null;
  sentAt: number;
  receivedAt: number;
}

/** Whether something answers at the address, whether by TLS, and whether it is this service, ready to work. */
export async function diagnoseAddress(
  terminal: Terminal,
  address: string,
  { timeoutMs, insecureHttp }: { timeoutMs: number; insecureHttp: boolean },
): Promise<{ diagnoses: Diagnosis[]; answer: Reached | undefined }> {
  const url = parsedUrl(address);
  if (url === undefined)
    return {
      diagnoses: [
        {
          what: 'address',
          ok: false,
          says: `${JSON.stringify(address)} is no address`,
          remedy: 'give https://host or http://127.0.0.1:7300',
        },
      ],
      answer: undefined,
    };
  const tls = diagnoseTls(url, insecureHttp);
  const sentAt = terminal.now();
  try {
    const answer = await terminal.fetch(`${address}/readyz`, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
    const text = await answer.text();
    const receivedAt = terminal.now();
    const service = readiness(answer, text);
    const isOurs = service.ok === true;
    return { diagnoses: [tls, service], answer: isOurs ? { date: answer.headers.get('date'), sentAt, receivedAt } : undefined };
  } catch (error) {
    return { diagnoses: [tls, unreachable(error)], answer: undefined };
  }
}

const LOOPBACK = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

function diagnoseTls({ protocol, hostname, origin }: URL, insecureHttp: boolean): Diagnosis {
  if (protocol === 'https:') return { what: 'TLS', ok: true, says: `${origin} is asked by TLS` };
  if (LOOPBACK.test(hostname)) return { what: 'TLS', ok: true, says: 'none, and none is needed on this machine' };
  const says = `${origin} would get the key unencrypted`;
  return insecureHttp
    ? { what: 'TLS', ok: null, says: `${says}, as --insecure-http says` }
    : { what: 'TLS', ok: false, says, remedy: 'use https:, or give --insecure-http where the network is trusted' };
}

function readiness(answer: Response, text: string): Diagnosis {
  const what = 'service';
  if (answer.status >= 300 && answer.status < 400)
    return {
      what,
      ok: false,
      says: `the address redirects to ${answer.headers.get('location')}`,
      remedy: 'give the final address: the key is never sent along a redirect',
    };
  if (answer.headers.get('x-request-id') === null || /<html/i.test(text))
    return {
      what,
      ok: false,
      says: `what answers (${answer.status}) is not Countersign`,
      remedy: 'check host, port and path; a proxy or a sign-in page may stand in between',
    };
  if (answer.status === 404)
    return {
      what,
      ok: false,
      says: 'Countersign answers, and has nothing at this path',
      remedy: 'wrong path in the address: give host and port alone, or the path below which your proxy has the service',
    };
  if (answer.status !== 200)
    return {
      what,
      ok: false,
      says: `Countersign answers, and is not ready (${answer.status})`,
      remedy: "its database is away or of another version; see the server's log",
    };
  return { what, ok: true, says: 'Countersign answers and is ready' };
}

/** What a fetch's error means; its code is that of the system or of OpenSSL. */
function unreachable(error: unknown): Diagnosis {
  const cause = ((error as Error).cause ?? error) as { code?: string; message?: string; name?: string };
  const code = cause.code ?? cause.name ?? '';
  const remedy =
    REMEDIES.find(([pattern]) => pattern.test(code))?.[1] ??
    'check the address, and whether this machine may reach it (firewall, proxy)';
  return {
    what: 'service',
    ok: false,
    says: `cannot be reached: ${[code, saidBy(cause)].filter((each) => each !== undefined && each !== '').join(': ')}`,
    remedy,
  };
}

/** What a system's error says. That of OpenSSL is lines of its source code; its last part is the reason. */
const saidBy = ({ message = '' }: { message?: string }): string =>
  /:error:/.test(message)
    ? message
        .trim()
        .split(':')
        .findLast((part) => /[a-z] /.test(part))!
    : message;

const REMEDIES: readonly [RegExp, string][] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'the name does not resolve: check the host, and the DNS of this machine'],
  [/^ECONNREFUSED$/, 'nothing listens there: check host and port, and that the server runs'],
  [
    /^(TimeoutError|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/,
    'no answer in time: a firewall may drop the packets; --timeout gives more time',
  ],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_.*|CERT_UNTRUSTED)$/,
    'the certificate is of an authority that Node does not know: give its file as NODE_EXTRA_CA_CERTS',
  ],
  [/^CERT_HAS_EXPIRED$/, 'the certificate has ended, or the clock of this machine is wrong: renew it on the server'],
  [/^CERT_NOT_YET_VALID$/, 'the certificate is not valid yet: the clock of this machine is probably behind'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'the certificate is for another name: use the name that stands in it'],
  [/^(EPROTO|ERR_SSL_.*)$/, 'it does not speak TLS there: check the port, or use http: on this machine'],
  [/^(ECONNRESET|UND_ERR_SOCKET)$/, 'the connection was cut: http: and https: may be mixed up, or a proxy cuts it'],
];

/** Seconds that the clocks may be apart before the gate stops believing (its --clock-skew). */
const SKEW_SECONDS_MAX = 60;

/** How far the clocks are apart, by the answer's Date. */
export function diagnoseClock({ date, sentAt, receivedAt }: Reached): Diagnosis {
  const there = Date.parse(date ?? '');
  if (Number.isNaN(there)) return { what: 'clock', ok: null, says: 'the answer bears no Date, so the clocks cannot be compared' };
  // Date has whole seconds: the moment lies within the second that it names.
  const ahead = there > receivedAt ? there - receivedAt : there + 1000 < sentAt ? there + 1000 - sentAt : 0;
  const seconds = Math.round(Math.abs(ahead) / 1000);
  if (seconds === 0) return { what: 'clock', ok: true, says: 'the clocks agree' };
  const says = `the service is ${seconds} s ${ahead > 0 ? 'ahead of' : 'behind'} this machine`;
  if (seconds <= SKEW_SECONDS_MAX / 2) return { what: 'clock', ok: true, says };
  const remedy = `set both clocks by NTP; more than ${SKEW_SECONDS_MAX} s and the gate cannot tell an old decision from a new one`;
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
