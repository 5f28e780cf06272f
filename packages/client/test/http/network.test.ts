import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { processEnvironment } from '../../../server/test/fixtures/process-environment.ts';

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const certificate = fixture('worthless-certificate.pem');
const servers: Server[] = [];
let secure: string;
let plain: string;
let proxy: string;
/** Targets that were reached through the proxy. */
let proxied: string[] = [];

beforeAll(async () => {
  const answer = (_: unknown, response: import('node:http').ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true,"id":"reached"}');
  const tls = { key: readFileSync(fixture('worthless-key.pem')), cert: readFileSync(certificate) };
  secure = `https://127.0.0.1:${await listening(createTlsServer(tls, answer))}`;
  plain = `http://127.0.0.1:${await listening(createServer(answer))}`;
  proxy = `http://127.0.0.1:${await listening(forwarding())}`;
});

afterAll(() => {
  for (const server of servers) server.close();
});

async function listening(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** A proxy as companies have it: whole addresses for http, tunnels for both. */
function forwarding(): Server {
  const server = createServer((incoming, outgoing) => {
    proxied.push(new URL(incoming.url!).host);
    const { method, headers } = incoming;
    incoming.pipe(
      request(incoming.url!, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
      }),
    );
  });
  return server.on('connect', ({ url }, socket) => {
    proxied.push(url!);
    const [host, port] = url!.split(':');
    const through = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      through.pipe(socket).pipe(through);
    });
    for (const end of [socket, through]) end.on('error', () => undefined);
  });
}

/** What a process with this environment gets for an answer. */
const callWith = async (url: string, environment: Record<string, string>): Promise<string> => {
  proxied = [];
  const options = { env: processEnvironment(environment) };
  return (await promisify(execFile)(process.execPath, [fixture('call-through.ts'), url], options)).stdout;
};

describe('what the environment says to Node, the client goes by', () => {
  test('a certificate authority of its own: trusted when NODE_EXTRA_CA_CERTS names it, and not otherwise', async () => {
    expect(await callWith(secure, {})).toMatch(/^ConnectionError: .*self-signed certificate/);
    expect(await callWith(secure, { NODE_EXTRA_CA_CERTS: certificate })).toBe('reached');
  });

  test('a proxy: gone through with NODE_USE_ENV_PROXY, to both kinds of addresses', async () => {
    const environment = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NODE_EXTRA_CA_CERTS: certificate };
    for (const url of [plain, secure]) {
      expect(await callWith(url, environment)).toBe('reached');
      expect(proxied).toEqual([new URL(url).host]);
    }
    expect(await callWith(plain, { ...environment, NO_PROXY: '127.0.0.1' })).toBe('reached');
    expect(proxied).toEqual([]);
  });
});
