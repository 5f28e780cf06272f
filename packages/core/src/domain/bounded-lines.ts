/** The maximum length of a line of an export, including the line feed (docs/formats.md, "Export"). */
export const LINE_BYTES_MAX = 64 * 1024 * 1024;

const LINE_FEED = 0x0a;

/**
 * Yields the lines of a byte stream, without line feeds. The lines that end in one chunk come in one array, because awaiting each line
 * would cost as much as parsing it. For a line beyond the limit, 'too long' is yielded, and nothing after it. So a file that
 * is not an export cannot fill the memory.
 * @param bytesMax the maximum length of a line in bytes, including the line feed.
 */
export async function* boundedLines(
  bytes: AsyncIterable<Uint8Array>,
  bytesMax: number = LINE_BYTES_MAX,
): AsyncGenerator<(Uint8Array | 'too long')[]> {
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    const lines: (Uint8Array | 'too long')[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      if (length + end + 1 - start > bytesMax) return yield [...lines, 'too long'];
      parts.push(chunk.subarray(start, end));
      lines.push(join(parts));
      parts = [];
      length = 0;
      start = end + 1;
    }
    if (lines.length > 0) yield lines;
    length += chunk.length - start;
    if (length > bytesMax) return yield ['too long'];
    if (start < chunk.length) parts.push(chunk.subarray(start));
  }
  if (length > 0) yield [join(parts)];
}

const join = (parts: readonly Uint8Array[]): Uint8Array => (parts.length === 1 ? parts[0]! : concatenate(parts));

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
