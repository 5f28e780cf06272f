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
let secureUrl: string;
let plainUrl: string;
let proxyUrl: string;
/** Hosts of the requests through the proxy. */
let proxiedHosts: string[] = [];

beforeAll(async () => {
  const respond = (_: unknown, response: import('node:http').ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true,"id":"reached"}');
  const tls = { key: readFileSync(fixture('self-signed-key.pem')), cert: readFileSync(certificate) };
  secureUrl = `https://127.0.0.1:${await listen(createTlsServer(tls, respond))}`;
  plainUrl = `http://127.0.0.1:${await listen(createServer(respond))}`;
  proxyUrl = `http://127.0.0.1:${await listen(createForwardProxy())}`;
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
    proxiedHosts.push(new URL(incoming.url!).host);
    const { method, headers } = incoming;
    incoming.pipe(
      request(incoming.url!, { method, headers }, (response) => {
        outgoing.writeHead(response.statusCode!, response.headers);
        response.pipe(outgoing);
      }),
    );
  });
  return server.on('connect', ({ url }, socket) => {
    proxiedHosts.push(url!);
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
  proxiedHosts = [];
  const options = { env: processEnvironment(environment) };
  return (await promisify(execFile)(process.execPath, [fixture('append-entry.ts'), url], options)).stdout;
};

describe('network settings of Node', () => {
  test('a self-signed certificate is trusted only with NODE_EXTRA_CA_CERTS', async () => {
    expect(await callWith(secureUrl, {})).toMatch(/^ConnectionError: .*self-signed certificate/);
    expect(await callWith(secureUrl, { NODE_EXTRA_CA_CERTS: certificate })).toBe('reached');
  });

  test('NODE_USE_ENV_PROXY sends http and https through the proxy, except to hosts in NO_PROXY', async () => {
    const environment = {
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: proxyUrl,
      HTTPS_PROXY: proxyUrl,
      NODE_EXTRA_CA_CERTS: certificate,
    };
    for (const url of [plainUrl, secureUrl]) {
      expect(await callWith(url, environment)).toBe('reached');
      expect(proxiedHosts).toEqual([new URL(url).host]);
    }
    expect(await callWith(plainUrl, { ...environment, NO_PROXY: '127.0.0.1' })).toBe('reached');
    expect(proxiedHosts).toEqual([]);
  });
});
