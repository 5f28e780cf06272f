/**
 * The index after the closing quotation mark of a JSON string.
 * @param text valid JSON.
 * @param start the index of the opening quotation mark.
 */
export function stringEnd(text: string, start: number): number {
  let at = start + 1;
  for (; text[at] !== '"'; at += 1) if (text[at] === '\\') at += 1;
  return at + 1;
}
