import { createHash } from 'node:crypto';

/** Namespace of the IDs made from harness names: a UUID of version 4, generated once. */
const NAMESPACE = '6f2f0a3c-3f0e-4b5e-9f0d-6a1f2a7d9c58';

/**
 * The ID of a harness by its name: a UUID of version 5 (RFC 9562, section 5.5). `evaluate record` and the gate compute the same ID, so no
 * register of harnesses is needed. A name that is a UUID is returned in lower case.
 */
export function harnessIdOf(name: string): string {
  if (UUID.test(name)) return name.toLowerCase();
  const bytes = createHash('sha1')
    .update(Buffer.from(NAMESPACE.replaceAll('-', ''), 'hex'))
    .update(name, 'utf8')
    .digest()
    .subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x50;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
