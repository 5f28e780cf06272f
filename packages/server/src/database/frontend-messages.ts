/**
 * The client messages of PostgreSQL's extended query protocol, one function per message; each returns complete messages as bytes. Formats:
 * https://www.postgresql.org/docs/current/protocol-message-formats.html. The driver's own serializer copies each parameter several times,
 * and the parameters of a batch have megabytes (docs/performance.md).
 */

/** A parameter in the protocol: text, binary bytes in one or several chunks, or null. */
export type Parameter = string | Buffer | Pieces | null;

/** Bytes in several chunks, sent one after the other without joining them. */
export class Pieces {
  readonly pieces: readonly Buffer[];
  readonly length: number;

  constructor(pieces: readonly Buffer[], length: number) {
    this.pieces = pieces;
    this.length = length;
  }
}

/** Longer parameters are sent without copying them into the message. */
const COPIED_BYTES_MAX = 4096;

const NAME_END = '\0';

function message(type: string, body: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(5 + body.length);
  bytes.write(type, 0, 'latin1');
  bytes.writeInt32BE(4 + body.length, 1);
  body.copy(bytes, 5);
  return bytes;
}

/** Prepares a named statement; the server infers the types of its parameters. */
export const parse = (name: string, text: string): Buffer =>
  message('P', Buffer.from(`${name}${NAME_END}${text}${NAME_END}${NAME_END}${NAME_END}`));

/** Requests the parameters and columns of a prepared statement. */
export const describeStatement = (name: string): Buffer => message('D', Buffer.from(`S${name}${NAME_END}`));

/** Closes a prepared statement; no error if it does not exist. */
export const closeStatement = (name: string): Buffer => message('C', Buffer.from(`S${name}${NAME_END}`));

/** Executes the unnamed portal, all rows. */
const EXECUTE = message('E', Buffer.alloc(5));

/** Ends a group. After an error the rest of the group is skipped. The server then sends the responses. */
export const SYNC = message('S', Buffer.alloc(0));

/** Binds parameters to the unnamed portal, with results as text, and executes it. Returns chunks to send in order. */
export function bindAndExecute(name: string, parameters: readonly Parameter[]): Buffer[] {
  const lengths = parameters.map(lengthOf);
  const copied = lengths.map((length, place) => (isCopied(parameters[place]!, length) ? Math.max(length, 0) : 0));
  const copiedBytes = copied.reduce((sum, bytes) => sum + bytes, 0);
  const head = Buffer.allocUnsafe(15 + Buffer.byteLength(name) + 6 * parameters.length + copiedBytes + EXECUTE.length);
  const pieces: Buffer[] = [];
  let at = head.write('B\0\0\0\0\0', 0, 'latin1');
  at += head.write(name, at);
  at = head.writeUInt8(0, at);
  at = head.writeInt16BE(parameters.length, at);
  for (const parameter of parameters) at = head.writeInt16BE(typeof parameter === 'string' || parameter === null ? 0 : 1, at);
  at = head.writeInt16BE(parameters.length, at);
  let sentTo = 0;
  let apart = 0;
  parameters.forEach((parameter, place) => {
    at = head.writeInt32BE(lengths[place]!, at);
    if (parameter === null) return;
    if (isCopied(parameter, lengths[place]!)) {
      at += typeof parameter === 'string' ? head.write(parameter, at) : (parameter as Buffer).copy(head, at);
      return;
    }
    pieces.push(head.subarray(sentTo, at), ...piecesOf(parameter));
    sentTo = at;
    apart += lengths[place]!;
  });
  at = head.writeInt32BE(0x0001_0000, at); // One format for all results: 0, text.
  head.writeInt32BE(at + apart - 1, 1);
  at += EXECUTE.copy(head, at);
  pieces.push(head.subarray(sentTo, at));
  return pieces;
}

const isCopied = (parameter: Parameter, length: number): boolean => length <= COPIED_BYTES_MAX && !(parameter instanceof Pieces);

function piecesOf(parameter: string | Buffer | Pieces): readonly Buffer[] {
  if (parameter instanceof Pieces) return parameter.pieces;
  return [typeof parameter === 'string' ? Buffer.from(parameter) : parameter];
}

const lengthOf = (parameter: Parameter): number => {
  if (parameter === null) return -1;
  return typeof parameter === 'string' ? Buffer.byteLength(parameter) : parameter.length;
};

/** Converts a value to a parameter: bytes as binary, all else as text, lists of texts as an array's text. */
export function parameterOf(value: unknown): Parameter {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || value instanceof Buffer || value instanceof Pieces) return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (Array.isArray(value)) return `{${value.map(elementOf).join(',')}}`;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  throw new TypeError(`a ${typeof value} cannot be a parameter of a statement`);
}

/** An element of an array's text, quoted, so that no text is read as NULL or as two elements. */
const elementOf = (element: unknown): string => (element === null ? 'NULL' : `"${String(element).replaceAll(/["\\]/g, '\\$&')}"`);
