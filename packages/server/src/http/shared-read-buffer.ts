import type { Socket } from 'node:net';

/** The maximum number of bytes that one read of a connection returns. Node uses the same size. */
const READ_BYTES = 64 * 1024;

/** All connections without TLS read into this buffer. They can share it, because each read is processed before the next one. */
const buffer = Buffer.allocUnsafeSlow(READ_BYTES);

/** The internal properties of a socket that Node's option `onread` sets. The sockets of a server do not get this option. */
type ReadableSocket = Socket & {
  [property: symbol]: unknown;
  _handle?: { useUserBuffer?: (bytes: Uint8Array) => void } | null;
};

/**
 * Makes a connection read into a shared buffer instead of a new buffer for each read. Allocating and collecting new buffers takes up to
 * about a tenth of the processor time of a small request (docs/performance.md).
 * @param receive gets the bytes of each read. It must copy bytes that are needed after it returns.
 * @returns false if this version of Node lacks the internal properties; then nothing is changed.
 */
export function readIntoSharedBuffer(socket: Socket, receive: (bytes: Buffer) => void): boolean {
  const reading = socket as ReadableSocket;
  const handle = reading._handle;
  const properties = Object.getOwnPropertySymbols(reading);
  const [bufferKey, callbackKey] = ['kBuffer', 'kBufferCb'].map((name) =>
    properties.find(({ description }) => description === name),
  );
  if (typeof handle?.useUserBuffer !== 'function' || bufferKey === undefined || callbackKey === undefined) return false;
  reading[bufferKey] = buffer;
  reading[callbackKey] = (length: number) => receive(buffer.subarray(0, length));
  handle.useUserBuffer(buffer);
  return true;
}
