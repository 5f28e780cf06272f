/**
 * Text from elsewhere made fit for one line of a CI log: no control characters, no directions of writing, and nothing that GitHub would
 * take for a workflow command (`##[` anywhere in a line, `::` at its beginning).
 */
export const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\s\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .replaceAll('##[', '## [')
    .replace(/^ *::/, ': :')
    .trim();

/** One line, and no longer than a number of characters. */
export function shortLine(text: string, lengthMax = 400): string {
  const line = oneLine(text);
  return line.length <= lengthMax ? line : `${line.slice(0, lengthMax - 1)}…`;
}
