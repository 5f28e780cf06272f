import { MalformedExportError } from './records.ts';

/** The bits of a tag that contain the wire type. */
const WIRE_TYPE_MASK = 7;

/** The number of bytes that one call of String.fromCharCode converts. */
const CHUNK_BYTES = 8192;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The length in bytes of the longest text that `name` caches. */
const NAME_BYTES_MAX = 64;
/** The number of texts that `name` caches. */
const NAMES_MAX = 512;

/** A decoded text with its bytes. */
interface DecodedName {
  bytes: Uint8Array;
  text: string;
}

/** Recently decoded names, by a hash of their bytes. The names of attributes repeat in every span. */
const names: (DecodedName | undefined)[] = Array.from({ length: NAMES_MAX });

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads the wire format of protobuf. `countProtobuf` must have accepted the bytes before: tags and lengths are not checked here.
 * MalformedExportError is thrown only for a text that is not UTF-8.
 */
export class WireReader {
  /** Position of the next byte. */
  at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Reads a tag: eight times the number of the field, plus the wire type. */
  tag(): number {
    return this.#varint();
  }

  /** Reads the length of a message or text. Returns the position at which the message or text ends. */
  end(): number {
    const length = this.#varint();
    return this.at + length;
  }

  /** Skips the value of the field with this tag. */
  skip(tag: number): void {
    const wireType = tag & WIRE_TYPE_MASK;
    if (wireType === 2) this.at = this.end();
    else if (wireType === 1) this.at += 8;
    else if (wireType === 5) this.at += 4;
    else while (this.#bytes[this.at++]! >= 0x80);
  }

  /** Reads a varint as a signed number of 32 bits, as enumerations are encoded. */
  int32(): number {
    let value = 0;
    let shift = 0;
    for (;;) {
      const byte = this.#bytes[this.at++]!;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      shift += 7;
      if (byte < 0x80) return value;
    }
  }

  /** Reads a varint as a boolean. */
  bool(): boolean {
    let bits = 0;
    for (;;) {
      const byte = this.#bytes[this.at++]!;
      bits |= byte & 0x7f;
      if (byte < 0x80) return bits !== 0;
    }
  }

  /** Reads a varint as a signed number of 64 bits; as text if it is not a safe integer. */
  int64(): number | string {
    const start = this.at;
    let value = 0;
    for (let scale = 1; scale <= 2 ** 42; scale *= 128) {
      const byte = this.#bytes[this.at++]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    this.at = start;
    return this.#longInt64();
  }

  /** Reads a fixed number of 32 bits. */
  fixed32(): number {
    this.at += 4;
    return this.#view.getUint32(this.at - 4, true);
  }

  /** Reads a fixed number of 64 bits as a time in nanoseconds; undefined for 0, which means that no time was sent. */
  nanoseconds(): bigint | undefined {
    this.at += 8;
    return this.#view.getBigUint64(this.at - 8, true) || undefined;
  }

  /** Reads a double; NaN and infinity as text. */
  double(): number | string {
    this.at += 8;
    const value = this.#view.getFloat64(this.at - 8, true);
    return Number.isFinite(value) ? value : String(value);
  }

  /** Reads an ID of `length` bytes as lower-case hex; empty if it has another length or is all zeros. */
  hexId(length: number): string {
    const end = this.end();
    const start = this.at;
    this.at = end;
    if (end - start !== length) return '';
    let text = '';
    let bits = 0;
    for (let at = start; at < end; at += 1) {
      const byte = this.#bytes[at]!;
      text += HEX[byte];
      bits |= byte;
    }
    return bits === 0 ? '' : text;
  }

  /** Reads a text. */
  text(): string {
    const end = this.end();
    const bytes = this.#bytes.subarray(this.at, end);
    this.at = end;
    try {
      return decoder.decode(bytes);
    } catch {
      throw new MalformedExportError('the body is not protobuf of OTLP: a text is not UTF-8', `byte ${end - bytes.length}`);
    }
  }

  /** Reads a text, from a cache if it occurred recently. */
  name(): string {
    const start = this.at;
    const end = this.end();
    const length = end - this.at;
    if (length === 0 || length > NAME_BYTES_MAX) {
      this.at = start;
      return this.text();
    }
    const bytes = this.#bytes;
    const hash = length + bytes[this.at]! * 7 + bytes[end - 1]! * 31 + bytes[(this.at + end) >> 1]! * 131;
    const cached = names[hash % NAMES_MAX];
    if (cached !== undefined && this.#isAt(cached.bytes, length)) {
      this.at = end;
      return cached.text;
    }
    const decoded = { bytes: bytes.slice(this.at, end), text: '' };
    this.at = start;
    decoded.text = this.text();
    names[hash % NAMES_MAX] = decoded;
    return decoded.text;
  }

  /** Reads bytes as Base64. */
  base64(): string {
    const end = this.end();
    const bytes = this.#bytes.subarray(this.at, end);
    this.at = end;
    let text = '';
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK_BYTES));
    return btoa(text);
  }

  #isAt(expected: Uint8Array, length: number): boolean {
    if (expected.length !== length) return false;
    for (let index = 0; index < length; index += 1) if (expected[index] !== this.#bytes[this.at + index]) return false;
    return true;
  }

  /** Reads a varint of at most five bytes. */
  #varint(): number {
    const first = this.#bytes[this.at++]!;
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let scale = 128; ; scale *= 128) {
      const byte = this.#bytes[this.at++]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  #longInt64(): number | string {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#bytes[this.at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    const signedValue = BigInt.asIntN(64, value);
    const number = Number(signedValue);
    return Number.isSafeInteger(number) ? number : String(signedValue);
  }
}
