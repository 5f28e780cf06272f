import type { VerificationMessage, VerificationRequest } from './verification-messages.ts';
import { verifyChain } from './verify-chain.ts';

/** News no more often than this: a ledger of a million rows would else be mostly messages. */
const NEWS_EVERY_MS = 60;

/** Verifies a whole ledger away from the page, so that the page stays alive. Ended by ending the worker. */
self.addEventListener('message', async ({ data }: MessageEvent<VerificationRequest>) => {
  const say = (news: VerificationMessage) => self.postMessage(news);
  try {
    const [checkpoint, keys] = await Promise.all([textOf(data.checkpointAddress), textOf('/.well-known/jwks.json')]);
    const response = await fetched(data.exportAddress);
    let lastNews = 0;
    const verdict = await verifyChain(linesOf(response), { ...data, checkpoint, keys }, (checked) => {
      const now = performance.now();
      if (now - lastNews < NEWS_EVERY_MS) return;
      lastNews = now;
      say({ kind: 'progress', checked });
    });
    say(verdict);
  } catch (error) {
    say({ kind: 'failed', reason: (error as Error).message });
  }
});

async function fetched(address: string): Promise<Response> {
  const response = await fetch(address, { credentials: 'same-origin' }).catch(() => undefined);
  if (response === undefined) throw new Error('the server does not answer');
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return response;
}

const textOf = async (address: string): Promise<string> => (await fetched(address)).text();

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
