import { request as connect, createServer } from 'node:http';
import { listen, stop } from './sender-process.ts';

/** A proxy that counts the statuses of the responses that it returns, and can drop responses. */
export interface CountingProxy {
  url: string;
  statuses: Map<number, number>;
  /** Drops the next `count` responses and closes their connections, as a broken network does. */
  dropResponses(count: number): void;
  stop(): void;
}

/** Starts a proxy in front of a server. While the server is not reachable, the proxy closes connections without a response. */
export async function startCountingProxy(target: string): Promise<CountingProxy> {
  const statuses = new Map<number, number>();
  let responsesToDrop = 0;
  const server = createServer((request, response) => {
    const { method, headers, url } = request;
    const forwardedRequest = connect(target + url!, { method, headers, agent: false }, (serverResponse) => {
      const status = serverResponse.statusCode!;
      if (responsesToDrop > 0) {
        responsesToDrop -= 1;
        serverResponse.resume();
        response.destroy();
        return;
      }
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      response.writeHead(status, serverResponse.headers);
      serverResponse.pipe(response);
    });
    forwardedRequest.on('error', () => response.destroy());
    request.pipe(forwardedRequest);
  });
  const url = await listen(server);
  return { url, statuses, dropResponses: (count) => (responsesToDrop += count), stop: () => stop(server) };
}
