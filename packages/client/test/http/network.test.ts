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
const certificate = fixture('self-signed-certificate.pem');
const servers: Server[] = [];
let secure: string;
let plain: string;
let proxy: string;
/** Hosts of the requests through the proxy. */
let proxied: string[] = [];

beforeAll(async () => {
  const respond = (_: unknown, response: import('node:http').ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true,"id":"reached"}');
  const tls = { key: readFileSync(fixture('self-signed-key.pem')), cert: readFileSync(certificate) };
  secure = `https://127.0.0.1:${await listen(createTlsServer(tls, respond))}`;
  plain = `http://127.0.0.1:${await listen(createServer(respond))}`;
  proxy = `http://127.0.0.1:${await listen(createForwardProxy())}`;
});

afterAll(() => {
  for (const server of servers) server.close();
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** A forward proxy. It accepts requests with absolute URLs, and opens tunnels (CONNECT). */
function createForwardProxy(): Server {
  const server = createServer((incoming, outgoing) => {
    proxied.push(new URL(incoming.url!).host);
    const { method, headers } = incoming;
    incoming.pipe(
      request(incoming.url!, { method, headers }, (response) => {
        outgoing.writeHead(response.statusCode!, response.headers);
        response.pipe(outgoing);
      }),
    );
  });
  return server.on('connect', ({ url }, socket) => {
    proxied.push(url!);
    const [host, port] = url!.split(':');
    const target = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      target.pipe(socket).pipe(target);
    });
    for (const stream of [socket, target]) stream.on('error', () => undefined);
  });
}

/** Appends an audit entry at this URL in a process with these variables. Returns the output of the process. */
const callWith = async (url: string, environment: Record<string, string>): Promise<string> => {
  proxied = [];
  const options = { env: processEnvironment(environment) };
  return (await promisify(execFile)(process.execPath, [fixture('append-entry.ts'), url], options)).stdout;
};

describe('network settings of Node', () => {
  test('a self-signed certificate is trusted only with NODE_EXTRA_CA_CERTS', async () => {
    expect(await callWith(secure, {})).toMatch(/^ConnectionError: .*self-signed certificate/);
    expect(await callWith(secure, { NODE_EXTRA_CA_CERTS: certificate })).toBe('reached');
  });

  test('NODE_USE_ENV_PROXY sends http and https through the proxy, except to hosts in NO_PROXY', async () => {
    const environment = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NODE_EXTRA_CA_CERTS: certificate };
    for (const url of [plain, secure]) {
      expect(await callWith(url, environment)).toBe('reached');
      expect(proxied).toEqual([new URL(url).host]);
    }
    expect(await callWith(plain, { ...environment, NO_PROXY: '127.0.0.1' })).toBe('reached');
    expect(proxied).toEqual([]);
  });
});
