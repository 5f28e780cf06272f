const CODE_POINT_MAX = 0x10_ffff;
const SURROGATES = { first: 0xd800, after: 0xe000 };

/**
 * The first text behind all that begin with `prefix`, in the order of code points: `text >= prefix AND text < prefixEnd(prefix)` is a range
 * of an index. Null when there is none. (`starts_with` would be no key behind row-level security: it is not leak-proof.)
 */
export function prefixEnd(prefix: string): string | null {
  const points = [...prefix].map((char) => char.codePointAt(0)!);
  while (points.at(-1) === CODE_POINT_MAX) points.pop();
  const last = points.pop();
  if (last === undefined) return null;
  return String.fromCodePoint(...points, last + 1 === SURROGATES.first ? SURROGATES.after : last + 1);
}
