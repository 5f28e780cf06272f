/**
 * The content coding of a response: of the offered ones, the one with the highest weight in Accept-Encoding (RFC 9110, section 12.5.3),
 * or the first of equals. Undefined if the client accepts none of them or sends no header.
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

/** A coding and its weight, `gzip;q=0.5`: 1 by default, 0 if it is not a number. */
function weightOf(given: string): [coding: string, weight: number] {
  const [coding = '', ...parameters] = given.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
  return [coding, weight === undefined ? 1 : Number(weight.replace(/^q\s*=\s*/, '')) || 0];
}
