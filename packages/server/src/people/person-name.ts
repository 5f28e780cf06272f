/** Invisible characters, and those that change the direction of text: format (U+200B, U+202E …), private use, line ends. */
const INVISIBLE = /[\p{Cf}\p{Co}\p{Zl}\p{Zp}]/u;
/** Joiners are part of some scripts and emoji, and hide nothing between letters. */
const JOINER = /(?<=\S)[\u200c\u200d](?=\S)/gu;
/** The names that rows and pages give to other actors. No person may have one of them. */
const RESERVED = /^(operator|system|promotion[ -]gate|a former member)$|^key |^(user|key|system):|\(you\)/i;

/**
 * Whether a text is a valid name of a person: with a letter, digit or symbol, without invisible characters or surrounding blanks, and not
 * the name of another actor.
 * Names need not be unique; pages distinguish people.
 */
export function isPersonName(text: string): boolean {
  if (text !== text.trim() || text === '' || INVISIBLE.test(text.replace(JOINER, ''))) return false;
  const plain = text.normalize('NFKC').replace(/\s+/gu, ' ');
  return /[\p{L}\p{N}\p{S}]/u.test(plain) && !RESERVED.test(plain);
}

/** The rule in words, after "must be". */
export const PERSON_NAME_RULE =
  'a name of letters, digits or symbols, without surrounding blanks or invisible characters, and not that of the operator, a key or the system';
