/** Texts in quotes, whose commas and semicolons part nothing; an empty one says no more than none (RFC 7240, section 2). */
const QUOTED = /"(?:[^"\\]|\\.)+"/g;

/**
 * Whether one of the preferences of a Prefer header (RFC 7240) is this one. It may carry parameters, which are none of ours: others are
 * ignored as the RFC says.
 */
export function isPreferred(preference: string, prefer: string | undefined): boolean {
  if (prefer === undefined) return false;
  const bare = prefer.replace(QUOTED, 'quoted').replaceAll('""', '').toLowerCase();
  return bare.split(',').some((each) => each.split(';', 1)[0]!.trim().replace(/\s*=$/, '') === preference);
}
