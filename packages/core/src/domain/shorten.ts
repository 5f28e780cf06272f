/**
 * Shortens a text to at most `lengthMax` characters (code points), the last of which is then an ellipsis. It never cuts a character that has
 * two UTF-16 code units, such as an emoji, in two.
 */
export function shorten(text: string, lengthMax: number): string {
  // Enough code units for one character more than the limit, also if each character has two.
  const characters = [...text.slice(0, 2 * (lengthMax + 1))];
  return characters.length > lengthMax ? `${characters.slice(0, lengthMax - 1).join('')}…` : text;
}
