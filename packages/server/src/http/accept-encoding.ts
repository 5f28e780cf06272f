/**
 * Selects the content coding of a response: the offered coding with the highest weight in Accept-Encoding (RFC 9110, section 12.5.3).
 * Of several codings with this weight, it selects the one offered first. Undefined if the client accepts no offered coding or sends no
 * header.
 */
export function preferredEncoding<E extends string>(acceptEncoding: string | undefined, offered: readonly E[]): E | undefined {
  if (acceptEncoding === undefined) return undefined;
  const weights = new Map(acceptEncoding.split(',').map(weightOf));
  let [preferred, highest]: [E | undefined, number] = [undefined, 0];
  for (const encoding of offered) {
    const weight = weights.get(encoding) ?? weights.get('*') ?? 0;
    if (weight > highest) [preferred, highest] = [encoding, weight];
  }
  return preferred;
}

/** Parses a coding with its weight, for example `gzip;q=0.5`. The weight is 1 if absent, and 0 if it is not a number. */
function weightOf(element: string): [coding: string, weight: number] {
  const [coding = '', ...parameters] = element.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
  return [coding, weight === undefined ? 1 : Number(weight.replace(/^q\s*=\s*/, '')) || 0];
}
