import { createServer, type Server } from 'node:http';
import { gunzipSync } from 'node:zlib';

/** One export: its path, its content type, and its decompressed body in Base64. */
export interface RecordedExport {
  path: string;
  contentType: string;
  body: string;
}

/** A receiver of OTLP/HTTP that accepts everything and records it in `exports`. */
export function createRecordingReceiver(exports: RecordedExport[]): Server {
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const receivedBytes = Buffer.concat(chunks);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(receivedBytes) : receivedBytes;
      exports.push({ path: request.url!, contentType: request.headers['content-type']!, body: body.toString('base64') });
      response.writeHead(200, { 'content-type': request.headers['content-type'] }).end();
    });
  });
}
