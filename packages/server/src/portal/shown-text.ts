/** The first code points of a text, at most `max`. A character outside the BMP is never cut in half. Null for null. */
export const beginningOf = (text: string | null, max: number): string | null =>
  text === null || text.length <= max ? text : [...text.slice(0, 2 * max)].slice(0, max).join('');
