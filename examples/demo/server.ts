import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { TourImpossibleError } from './narrator.ts';
import { COMMAND, lastLine } from './operator.ts';

/** The server that the tour uses. */
export interface Server {
  url: URL;
  /** Whether the tour started the server and must stop it. */
  isOwn: boolean;
  /** Shuts down a server that the tour started, and returns its exit code. Any other server keeps running, and the result is 0. */
  stop(): Promise<number | null>;
  /** Resolves when the server has ended. Never resolves for a server that the tour did not start. */
  ended: Promise<unknown>;
}

/** Long enough for the first start, which sets up a database. */
const READY_TIMEOUT_MS = 120_000;
/** Longer than the 10 seconds that the server needs at most. */
const STOP_TIMEOUT_MS = 15_000;
const RESPONSE_TIMEOUT_MS = 5_000;

/** The address that the tour uses: COUNTERSIGN_URL, or http://127.0.0.1 at COUNTERSIGN_PORT or 7300. Throws if it cannot be used. */
export function addressOf(environment: NodeJS.ProcessEnv): URL {
  const { COUNTERSIGN_URL: configuredUrl, COUNTERSIGN_PORT: port } = environment;
  const text = configuredUrl || `http://127.0.0.1:${port || 7300}`;
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new TourImpossibleError(
      configuredUrl
        ? `COUNTERSIGN_URL must be a URL that begins with http:// or https://, got ${JSON.stringify(configuredUrl)}`
        : `COUNTERSIGN_PORT must be a port number, got ${JSON.stringify(port)}`,
    );
  const url = new URL(text);
  if (url.port === '0')
    throw new TourImpossibleError(
      `the port in ${configuredUrl ? 'COUNTERSIGN_URL' : 'COUNTERSIGN_PORT'} is 0, which means any free port. Set it to the port to use`,
    );
  return url;
}

/** The server that responds at an address, or one that is started there. `onStarting` receives a started server before it is ready. */
export async function findOrStartServer(url: URL, onStarting: (server: Server) => void): Promise<Server> {
  if (await isCountersignReady(url)) return { url, isOwn: false, stop: async () => 0, ended: new Promise(() => undefined) };
  if (url.protocol !== 'http:' || !['127.0.0.1', 'localhost'].includes(url.hostname))
    throw new TourImpossibleError(`no server responds at ${url.origin}, and the tour starts servers only on this machine`);
  return startServer(url, onStarting);
}

/**
 * Whether a Countersign server is ready. False if nothing listens. Throws if there is no HTTP response for another reason, if another
 * program responds, or if the server is not ready.
 */
async function isCountersignReady(url: URL): Promise<boolean> {
  const contract = await get(url, '/openapi.json');
  if (contract === undefined) return false;
  const title = titleOf(contract.text);
  if (title !== 'Countersign')
    throw new TourImpossibleError(
      `a program other than Countersign responds at ${url.origin}. Stop it, or set COUNTERSIGN_URL to another address`,
    );
  const ready = await get(url, '/readyz');
  if (ready?.status !== 200)
    throw new TourImpossibleError(`Countersign at ${url.origin} is not ready: ${ready?.text ?? 'it no longer responds'}`);
  return true;
}

function titleOf(document: string): string | undefined {
  try {
    return (JSON.parse(document) as { info?: { title?: string } } | null)?.info?.title;
  } catch {
    return undefined;
  }
}

/** The response to a GET request, or undefined if nothing listens. Throws if there is no HTTP response for another reason. */
async function get(url: URL, path: string): Promise<{ status: number; text: string } | undefined> {
  try {
    const response = await fetch(new URL(path, url), { signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS) });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    const { message, cause } = error as Error & { cause?: { code?: string; message?: string } };
    if (cause?.code === 'ECONNREFUSED') return undefined;
    throw new TourImpossibleError(`there is no HTTP response from ${url.origin} (${cause?.message ?? message})`);
  }
}

async function startServer(url: URL, onStarting: (server: Server) => void): Promise<Server> {
  const environment = {
    ...process.env,
    COUNTERSIGN_HOST: '127.0.0.1',
    COUNTERSIGN_PORT: url.port || '80',
    // TLS is not needed on loopback, and the tour would have to trust the certificate.
    COUNTERSIGN_TLS_CERT_FILE: '',
    COUNTERSIGN_TLS_KEY_FILE: '',
  };
  const child = spawn(process.execPath, [COMMAND, 'serve'], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
  let errors = '';
  child.stdout.resume(); // the log of the server; a full pipe would block it
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4_000);
  });
  const server: Server = { url, isOwn: true, stop: () => stopServer(child, ended), ended };
  onStarting(server);
  try {
    await waitUntilReady(url, child, () => lastLine(errors));
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function waitUntilReady(url: URL, child: ChildProcess, lastError: () => string): Promise<void> {
  for (const deadline = Date.now() + READY_TIMEOUT_MS; Date.now() < deadline; await sleep(50)) {
    if (child.exitCode !== null || child.signalCode !== null) {
      const ending = child.exitCode === null ? `signal ${child.signalCode}` : `exit code ${child.exitCode}`;
      throw new TourImpossibleError(`the server did not start (${ending}): ${lastError()}`);
    }
    if ((await get(url, '/readyz'))?.status === 200) return;
  }
  throw new TourImpossibleError(`the server was not ready after ${READY_TIMEOUT_MS / 1000} seconds: ${lastError()}`);
}

async function stopServer(child: ChildProcess, ended: Promise<number | null>): Promise<number | null> {
  child.kill('SIGTERM');
  const killTimer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  const code = await ended;
  clearTimeout(killTimer);
  return code;
}
