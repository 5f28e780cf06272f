import { UnexpectedAnswerError } from './errors.ts';

/** The largest response that is read, in bytes after decompression. Genuine responses have a few kilobytes. */
const RESPONSE_BYTES_MAX = 8 * 1024 * 1024;

/** The members of a response that are used here. A `fetch` of the host application may return a response without a stream. */
interface TextResponse {
  readonly status: number;
  text(): Promise<string>;
}

/** The members of a ReadableStream that are used here. */
interface ByteStream {
  getReader(): { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>; cancel(): Promise<void> };
}

/**
 * Returns the text of a response. Reads a stream in chunks, so that an endless or highly compressed response cannot fill the memory.
 * @throws UnexpectedAnswerError if the response is too large.
 */
export async function readText(response: TextResponse, url: string): Promise<string> {
  const { body } = response as { body?: Partial<ByteStream> | null };
  if (typeof body?.getReader !== 'function') return response.text();
  const reader = (body as ByteStream).getReader();
  const decoder = new TextDecoder();
  let [text, length] = ['', 0];
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    length += value!.length;
    if (length > RESPONSE_BYTES_MAX) {
      void reader.cancel().catch(() => undefined);
      throw new UnexpectedAnswerError(
        `the response of ${url} is not from Countersign: it has more than ${RESPONSE_BYTES_MAX} bytes`,
        response.status,
      );
    }
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}
