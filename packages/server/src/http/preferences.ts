/**
 * Quoted texts that are not empty: commas and semicolons in them are not separators. An empty value is the same as no value (RFC 7240,
 * section 2).
 */
const QUOTED = /"(?:[^"\\]|\\.)+"/g;

/**
 * Whether a Prefer header (RFC 7240) contains this preference, with or without parameters. Other preferences are ignored, as the RFC
 * requires.
 */
export function isPreferred(preference: string, prefer: string | undefined): boolean {
  if (prefer === undefined) return false;
  const unquoted = prefer.replace(QUOTED, 'quoted').replaceAll('""', '').toLowerCase();
  return unquoted.split(',').some((each) => each.split(';', 1)[0]!.trim().replace(/\s*=$/, '') === preference);
}
