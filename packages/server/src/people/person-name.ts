import { invisibleCharacters } from '@countersign/core/domain/invisible-characters';

/** Characters without a defined appearance. */
const PRIVATE_USE = /\p{Co}/u;
/** The scripts in which a joiner between letters changes how the letters are drawn. In other scripts, a joiner is invisible. */
const JOINING_SCRIPTS =
  '[\\p{sc=Arab}\\p{sc=Syrc}\\p{sc=Mong}\\p{sc=Deva}\\p{sc=Beng}\\p{sc=Guru}\\p{sc=Gujr}\\p{sc=Orya}\\p{sc=Taml}\\p{sc=Telu}\\p{sc=Knda}\\p{sc=Mlym}\\p{sc=Sinh}\\p{sc=Mymr}\\p{sc=Khmr}]';
const JOINER = new RegExp(`(?<=${JOINING_SCRIPTS})[\\u200c\\u200d](?=${JOINING_SCRIPTS})`, 'gu');
/** Variation selectors after Chinese characters. They select the form of the character that the person uses. */
const VARIATION_SELECTOR = /(?<=\p{sc=Hani})[\u{e0100}-\u{e01ef}]/gu;
/** The names, prefixes and marks of actors in rows and pages. The name of a person must not match. */
const RESERVED_NAMES =
  /^(operator|system|promotion[ -]gate|retention|(a )?former member|member)$|^key |^(user|key|system):|\(you\)/i;

/**
 * Whether a text is a valid name of a person. A name has a letter, digit or symbol. It has no invisible or private-use characters and no
 * surrounding blanks, and is not the name of another actor. Names need not be unique: pages add the email address to names that look the
 * same.
 */
export function isPersonName(text: string): boolean {
  const textWithoutJoiners = text.replace(JOINER, '').replace(VARIATION_SELECTOR, '');
  if (text !== text.trim() || text === '' || PRIVATE_USE.test(text) || invisibleCharacters(textWithoutJoiners).length > 0)
    return false;
  const plain = text.normalize('NFKC').replace(/\s+/gu, ' ');
  return /[\p{L}\p{N}\p{S}]/u.test(plain) && !RESERVED_NAMES.test(plain);
}

/** The rule in words, after "must be". */
export const PERSON_NAME_RULE =
  'a name with a letter, digit or symbol, without surrounding blanks or invisible characters, and not a name of the operator, a key or the system';
