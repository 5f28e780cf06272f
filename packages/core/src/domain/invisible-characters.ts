// These count as invisible: default-ignorable code points, format characters, line and paragraph separators, the blank Braille pattern and
// the null notehead. Format characters that are drawn are exceptions: marks of Arabic, Syriac and Kaithi numbers and text.
const INVISIBLE =
  /[[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Zl}\p{Zp}\u2800\u{1D159}]--[\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2\u{110BD}\u{110CD}]]/gv;
// Joiners, variation selectors and tags are allowed in the emoji sequences that Unicode recommends, because they change what is drawn.
const EMOJI = /\p{RGI_Emoji}/gv;

/** Whether a text contains invisible characters, including those in emoji. */
export const hasInvisibleCharacters = (text: string): boolean => text.search(INVISIBLE) !== -1;

/** The invisible characters of a text outside emoji, with their positions in UTF-16 code units. */
export function invisibleCharacters(text: string): { at: number; character: string }[] {
  if (!hasInvisibleCharacters(text)) return [];
  const plain = text.replace(EMOJI, (sequence) => 'x'.repeat(sequence.length));
  return [...plain.matchAll(INVISIBLE)].map(({ index, 0: character }) => ({ at: index, character }));
}

let graphemes: Intl.Segmenter | undefined;

/**
 * Whether a text contains invisible characters outside emoji. Agrees with `invisibleCharacters`, but is faster for many emoji. The search
 * for emoji is slow, so it covers only graphemes with invisible characters, and ends at the first such character outside emoji.
 */
export function hasInvisibleOutsideEmoji(text: string): boolean {
  if (!hasInvisibleCharacters(text)) return false;
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  for (const { segment } of graphemes.segment(text)) if (graphemeHasInvisibleOutsideEmoji(segment)) return true;
  return false;
}

function graphemeHasInvisibleOutsideEmoji(grapheme: string): boolean {
  if (!hasInvisibleCharacters(grapheme)) return false;
  let end = 0;
  for (const { index, 0: emoji } of grapheme.matchAll(EMOJI)) {
    if (hasInvisibleCharacters(grapheme.slice(end, index))) return true;
    end = index + emoji.length;
  }
  return hasInvisibleCharacters(grapheme.slice(end));
}
