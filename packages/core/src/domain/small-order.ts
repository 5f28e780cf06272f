/** The y coordinates of the eight points of small order of edwards25519: 32 bytes, little-endian, in hex. 1 and -1 have one point each. */
const SMALL_ORDER: ReadonlySet<string> = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
]);

/** The prime p in the same form, without its first byte, which is 0xed. A canonical y is below p. */
const PRIME_TAIL = `${'ff'.repeat(30)}7f`;

/**
 * Whether an Ed25519 public key of 32 bytes must be rejected, because it is a point of small order or is not encoded canonically
 * (docs/formats.md, "Signing keys"). False for a key of another length.
 */
export function mustRejectPublicKey(publicKey: Uint8Array): boolean {
  if (publicKey.length !== 32) return false;
  const hex = [...publicKey].map((byte, index) => (index === 31 ? byte & 0x7f : byte).toString(16).padStart(2, '0')).join('');
  return SMALL_ORDER.has(hex) || (hex.slice(2) === PRIME_TAIL && publicKey[0]! >= 0xed);
}
