import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { parseResponses } from '../bad-input/raw-socket.ts';
import { paths, type TestResponse, testServer } from '../harness/test-server.ts';

/** The memory for request bodies. While no other tenant sends bodies, a tenant may use three quarters of it: enough for two bodies. */
const READING_BYTES = 300_000;
const BODY = Buffer.from(JSON.stringify({ trace_id: 'slow', metadata: { text: 'x'.repeat(99_900) } }));
const BODIES_AT_A_TIME = 2;
const SENDERS = 12;

const server = await testServer({ readingBytesMax: READING_BYTES, reportBytesMax: 150_000 });
const key = await server.key(await server.workspace());

/** A client that sends the head of a request immediately and its body only on demand. */
class SlowSender {
  readonly socket: Socket;
  readonly response: Promise<TestResponse>;
  received: TestResponse | undefined;

  constructor(headers: readonly string[]) {
    this.socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' });
    const head = [`POST ${paths.traces} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${key}`, 'Content-Type: application/json'];
    this.socket.write(`${[...head, ...headers].join('\r\n')}\r\n\r\n`);
    const chunks: Buffer[] = [];
    this.response = new Promise((resolve, reject) => {
      this.socket.on('error', reject);
      this.socket.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        this.received = parseResponses(Buffer.concat(chunks))[0]!;
        resolve(this.received);
      });
    });
  }

  send(part: Buffer): void {
    this.socket.write(part);
  }
}

const connectDeclared = () => new SlowSender([`Content-Length: ${BODY.length}`]);
const connectChunked = () => new SlowSender(['Transfer-Encoding: chunked']);
const readingBytes = async () =>
  Number(/^countersign_reading_bytes (\d+)/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1]);

describe('admission of bodies', () => {
  test('rejects a body before its first byte when slow bodies use all memory of the tenant, and closes the connection', async () => {
    const slowSenders = [connectDeclared(), connectDeclared()];
    await until('both slow bodies are admitted', async () => (await readingBytes()) === 2 * BODY.length);
    const lateSender = connectDeclared();
    const rejection = await lateSender.response;
    expect([rejection.status, rejection.headers.get('retry-after'), rejection.headers.get('connection')]).toEqual([
      503,
      '1',
      'close',
    ]);
    for (const sender of slowSenders) sender.send(BODY);
    expect(await Promise.all(slowSenders.map(async ({ response }) => (await response).status))).toEqual([200, 200]);
    for (const { socket } of [...slowSenders, lateSender]) socket.destroy();
    await until('the memory is freed', async () => (await readingBytes()) === 0);
  });

  test('accepts two senders per round and rejects the others before they send a body; after six rounds all are accepted', async () => {
    let sendersLeft = SENDERS;
    while (sendersLeft > 0) {
      const senders = Array.from({ length: sendersLeft }, connectDeclared);
      const admittedMax = Math.min(sendersLeft, BODIES_AT_A_TIME);
      await until(
        'all other senders are rejected',
        () => senders.filter(({ received }) => received !== undefined).length >= sendersLeft - admittedMax,
      );
      const rejected = senders.filter(({ received }) => received !== undefined);
      const admitted = senders.filter(({ received }) => received === undefined);
      expect(rejected.map(({ received }) => received?.status)).toEqual(rejected.map(() => 503));
      // The senders send pieces in turn, so the bodies arrive at the same time. No body may use memory that is reserved for another.
      for (let at = 0; at < BODY.length; at += 10_000) for (const sender of admitted) sender.send(BODY.subarray(at, at + 10_000));
      const responses = await Promise.all(admitted.map(({ response }) => response));
      expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: admittedMax }, () => 200));
      for (const { socket } of senders) socket.destroy();
      await until('the memory is freed', async () => (await readingBytes()) === 0);
      sendersLeft -= admittedMax;
    }
  });

  test('reserves memory for chunked bodies in steps and leaves memory for bodies of a declared length', async () => {
    const first = connectChunked();
    await until('the first step is reserved', async () => (await readingBytes()) === 64 * 1024);
    const responses = await Promise.all(
      [connectChunked(), connectChunked(), connectChunked()].map(async (sender) => ({ sender, response: await sender.response })),
    );
    expect(responses.map(({ response }) => [response.status, response.headers.get('connection')])).toEqual(
      Array.from({ length: 3 }, () => [503, 'close']),
    );
    const declaredSender = connectDeclared();
    declaredSender.send(BODY);
    expect((await declaredSender.response).status).toBe(200);
    first.send(Buffer.concat([Buffer.from(`${BODY.length.toString(16)}\r\n`), BODY, Buffer.from('\r\n0\r\n\r\n')]));
    expect((await first.response).status).toBe(200);
    for (const { socket } of [first, declaredSender, ...responses.map(({ sender }) => sender)]) socket.destroy();
    await until('the memory is freed', async () => (await readingBytes()) === 0);
  });

  test('reserves 64 KiB for a small compressed body and accepts it', async () => {
    const compressedBody = gzipSync(BODY);
    const sender = new SlowSender(['Content-Encoding: gzip', `Content-Length: ${compressedBody.length}`]);
    await until('the memory for the body is reserved', async () => (await readingBytes()) === 64 * 1024);
    sender.send(compressedBody);
    expect((await sender.response).status).toBe(200);
    sender.socket.destroy();
    await until('the memory is freed', async () => (await readingBytes()) === 0);
  });

  test('a client that sends its whole body despite a rejection still receives the rejection', async () => {
    const slowSenders = [connectDeclared(), connectDeclared()];
    await until('both slow bodies are admitted', async () => (await readingBytes()) === 2 * BODY.length);
    const lateSender = connectDeclared();
    for (let at = 0; at < BODY.length; at += 10_000) {
      lateSender.send(BODY.subarray(at, at + 10_000));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect((await lateSender.response).status).toBe(503);
    for (const { socket } of [...slowSenders, lateSender]) socket.destroy();
    await until('the memory is freed', async () => (await readingBytes()) === 0);
  });
});
