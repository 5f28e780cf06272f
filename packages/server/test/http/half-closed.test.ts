import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BODY } from '../bad-input/http.ts';
import { httpText, parseResponses, sendRaw } from '../bad-input/raw-socket.ts';
import { createDatabaseEnvironment } from '../fixtures/cloned-database.ts';
import { newKey } from '../fixtures/run-command.ts';
import { ServerProcess } from '../fixtures/server-process.ts';
import { paths } from '../harness/test-server.ts';

let server: ServerProcess;
let appendRequest: string;

beforeAll(async () => {
  const environment = await createDatabaseEnvironment();
  server = await ServerProcess.start(environment);
  const { key } = await newKey(environment, 'acme');
  appendRequest = httpText(
    `POST ${paths.audit} HTTP/1.1`,
    ['Host: x', `Authorization: Bearer ${key}`, 'Content-Type: application/json', `Content-Length: ${BODY.length}`],
    BODY,
  );
});

afterAll(async () => {
  expect(await server?.end('SIGTERM')).toBe(0);
});

const LIVEZ_REQUEST = httpText('GET /livez HTTP/1.1', ['Host: x']);
const statuses = async (text: string) => (await sendRaw(server.url, text, { closesSending: true })).map(({ status }) => status);

describe('a client that closes its sending side', () => {
  test('reads the response to its only request before the connection closes', async () => {
    expect(await statuses(LIVEZ_REQUEST)).toEqual([200]);
    expect(await statuses(appendRequest)).toEqual([200]);
  });

  test('reads the responses to all pipelined requests in order', async () => {
    const missing = httpText('GET /api/nothing HTTP/1.1', ['Host: x']);
    expect(await statuses(appendRequest + LIVEZ_REQUEST + missing + appendRequest + appendRequest)).toEqual([
      200, 200, 404, 200, 200,
    ]);
    expect(await statuses(appendRequest.repeat(40))).toEqual(Array(40).fill(200));
  });

  test('reads the responses to requests that it sent after an earlier response', async () => {
    const port = Number(new URL(server.url).port);
    const chunks: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.write(appendRequest);
    while (chunks.length === 0) await sleep(5);
    socket.end(appendRequest + appendRequest);
    await new Promise((resolve) => socket.once('close', resolve));
    expect(parseResponses(Buffer.concat(chunks)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test('reads the responses to complete requests and a 400 for an incomplete last request', async () => {
    expect(await statuses(`${appendRequest}${appendRequest.slice(0, -5)}`)).toEqual([200, 400]);
    expect(await statuses(`${LIVEZ_REQUEST}GET /livez HT`)).toEqual([200, 400]);
  });

  test('leaves no connection open, with or without a request', async () => {
    const port = Number(new URL(server.url).port);
    const texts = ['', LIVEZ_REQUEST, appendRequest, LIVEZ_REQUEST + LIVEZ_REQUEST, `${appendRequest}POST`];
    const closed = texts.map(
      (text) =>
        new Promise<void>((resolve, reject) => {
          // With allowHalfOpen the socket closes only after the server has closed its side and everything is read.
          const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.end(text));
          socket.on('close', () => resolve()).on('error', reject);
          socket.resume();
        }),
    );
    await Promise.all(closed);
  });
});
