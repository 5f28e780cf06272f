/** The end of a message that suggests names for an unknown agent. A name in a message contains no quotation mark. */
const SUGGESTION = /; did you mean ((?:"[^"]*"(?: or )?)+)\?$/;

/**
 * Only this many code points at the end of a message are searched, because the search of a long hostile message would be slow. The text
 * of three suggested names is shorter.
 */
const SEARCHED_LENGTH = 1_000;

/** The maximum number of code points of a name in a message. A message shows the first 59 of a longer name, and an ellipsis. */
const SHOWN_LENGTH_MAX = 60;

/** The names that the message of a decision suggests, as the message shows them; empty if it suggests none. */
export function suggestedNames(message: unknown): string[] {
  const quoted = typeof message === 'string' ? SUGGESTION.exec(endOf(message))?.[1] : undefined;
  return quoted === undefined ? [] : [...quoted.matchAll(/"([^"]*)"/g)].map(([, name = '']) => name);
}

/** The searched end of a message. A code point has at most two UTF-16 code units. */
const endOf = (message: string): string => [...message.slice(-2 * SEARCHED_LENGTH)].slice(-SEARCHED_LENGTH).join('');

/**
 * Whether a message can show `knownName` as `shownName`. Messages write ' for ", shorten long names and leave out invisible characters. Any
 * character other than printable ASCII may be left out, because versions of Unicode differ in which characters are invisible.
 */
export function showsName(shownName: string, knownName: string): boolean {
  const shownCharacters = [...shownName];
  const isShortened = shownCharacters.length === SHOWN_LENGTH_MAX && shownCharacters.at(-1) === '…';
  const expected = isShortened ? shownCharacters.slice(0, -1) : shownCharacters;
  let at = 0;
  for (const character of knownName.replaceAll('"', "'")) {
    if (isShortened && at === expected.length) return true;
    if (character === expected[at]) at += 1;
    else if (character >= ' ' && character <= '~') return false;
  }
  return at === expected.length;
}
