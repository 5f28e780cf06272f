import type { TestServer } from '../harness/test-server.ts';

export const PROTOBUF = { 'content-type': 'application/x-protobuf' };
export const JSON_TYPE = { 'content-type': 'application/json' };

/** A response with its body as bytes, because it may be protobuf. */
export interface ExportAnswer {
  status: number;
  headers: Headers;
  bytes: Buffer;
}

/** Sends exports with a key. */
export interface Exporter {
  send(body: Uint8Array | string, headers: Record<string, string>, path?: string): Promise<ExportAnswer>;
  sendJson(body: unknown, path?: string): Promise<ExportAnswer>;
}

/** Creates an exporter for a server. */
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
