import type { VerificationMessage, VerificationRequest } from './verification-messages.ts';
import { verifyChain } from './verify-chain.ts';

/** The minimum time between two progress messages. */
const PROGRESS_INTERVAL_MS = 60;

/** Verifies a whole ledger in a worker, so that the page stays responsive. Terminating the worker cancels the verification. */
self.addEventListener('message', async ({ data }: MessageEvent<VerificationRequest>) => {
  const post = (message: VerificationMessage) => self.postMessage(message);
  try {
    const [checkpoint, keys] = await Promise.all([fetchText(data.checkpointUrl), fetchText('/.well-known/jwks.json')]);
    const response = await fetchOk(data.exportUrl);
    let lastProgressAt = 0;
    const result = await verifyChain(linesOf(response), { ...data, checkpoint, keys }, (checkedCount) => {
      const now = performance.now();
      if (now - lastProgressAt < PROGRESS_INTERVAL_MS) return;
      lastProgressAt = now;
      post({ kind: 'progress', checkedCount });
    });
    post(result);
  } catch (error) {
    post({ kind: 'failed', reason: (error as Error).message });
  }
});

/**
 * Fetches a URL. Always asks the server, because a response in the browser's cache can lack a new key for five minutes. Throws if there is
 * no response, or the status is an error.
 */
async function fetchOk(url: string): Promise<Response> {
  const response = await fetch(url, { credentials: 'same-origin', cache: 'no-cache' }).catch(() => undefined);
  if (response === undefined) throw new Error('the server is not responding');
  if (!response.ok) throw new Error(`the server responded with status ${response.status}`);
  return response;
}

const fetchText = async (url: string): Promise<string> => (await fetchOk(url)).text();

async function* linesOf(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  let rest = '';
  const reader = response.body.pipeThrough(new TextDecoderStream('utf-8', { fatal: true })).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}
