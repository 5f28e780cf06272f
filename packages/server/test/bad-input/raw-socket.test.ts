import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { afterFile } from '../harness/after-file.ts';
import { sendRaw } from './raw-socket.ts';

const RESPONSE = 'HTTP/1.1 204 No Content\r\n\r\n';

/** Starts a server that handles each connection after its first bytes, and returns its URL. */
async function startServer(handle: (socket: Socket) => void): Promise<string> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    socket.once('data', () => handle(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('sendRaw returns the responses of a server that closes the connection', async () => {
  const url = await startServer((socket) => socket.end(RESPONSE + RESPONSE));
  expect((await sendRaw(url, 'x')).map(({ status }) => status)).toEqual([204, 204]);
});

test('sendRaw rejects if the server sends something other than HTTP', async () => {
  const url = await startServer((socket) => socket.end('nonsense'));
  await expect(sendRaw(url, 'x')).rejects.toThrow('not an HTTP response: nonsense');
});

test.each([
  ['after a response', RESPONSE, /within 200 ms; it sent HTTP\/1\.1 204 No Content/],
  ['without a response', '', /within 200 ms; it sent $/],
])('sendRaw rejects if the server leaves the connection open %s', async (_when, response, message) => {
  const url = await startServer((socket) => void socket.write(response));
  await expect(sendRaw(url, 'x', { timeoutMs: 200 })).rejects.toThrow(message);
});
