import protobuf from 'protobufjs/minimal.js';
import type { TestServer } from '../harness/test-server.ts';

export const PROTOBUF = { 'content-type': 'application/x-protobuf' };
export const JSON_TYPE = { 'content-type': 'application/json' };

/** A response with its body as bytes, because it may be protobuf. */
export interface ExportResponse {
  status: number;
  headers: Headers;
  bytes: Buffer;
}

/** Sends exports to a server. */
export interface Exporter {
  send(body: Uint8Array | string, headers: Record<string, string>, path?: string): Promise<ExportResponse>;
  sendJson(body: unknown, path?: string): Promise<ExportResponse>;
}

/** Creates an exporter for a server. The exporter adds the key to requests that do not have the header `authorization`. */
export function exporter(server: TestServer, key: string | undefined): Exporter {
  const send: Exporter['send'] = async (body, headers, path = '/v1/traces') => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { ...(key === undefined || 'authorization' in headers ? {} : { 'x-service-key': key }), ...headers },
      body: body as NonNullable<RequestInit['body']>,
    });
    return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
  };
  return { send, sendJson: (body, path) => send(JSON.stringify(body), JSON_TYPE, path) };
}

/** Decodes a google.rpc.Status in the media type of its response. */
export function statusOf({ headers, bytes }: ExportResponse): { code: number; message: string } {
  if (headers.get('content-type')!.includes('json')) return JSON.parse(bytes.toString());
  const reader = protobuf.Reader.create(bytes);
  const status = { code: 0, message: '' };
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === 8) status.code = reader.int32();
    else if (tag === 18) status.message = reader.string();
    else throw new Error(`unknown field of google.rpc.Status: ${tag}`);
  }
  return status;
}

/** Decodes the response to an export in its media type. Returns the number of rejected records, and the message. */
export function partialSuccessOf({ headers, bytes }: ExportResponse): { rejected: number; message: string } {
  if (headers.get('content-type')!.includes('json')) {
    const { partialSuccess: { errorMessage = '', ...counts } = {} } = JSON.parse(bytes.toString());
    return { rejected: Number(Object.values(counts)[0] ?? 0), message: errorMessage };
  }
  const result = { rejected: 0, message: '' };
  if (bytes.length === 0) return result;
  const outer = protobuf.Reader.create(bytes);
  if (outer.uint32() !== 10) throw new Error('unknown field of an export response');
  const reader = protobuf.Reader.create(outer.bytes());
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === 8) result.rejected = Number(reader.int64());
    else if (tag === 18) result.message = reader.string();
    else throw new Error(`unknown field of a partial success: ${tag}`);
  }
  return result;
}
