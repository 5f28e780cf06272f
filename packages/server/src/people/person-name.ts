/** What is not seen, or turns around what stands beside it: of format (U+200B, U+202E …), private, ends of lines. Controls are no label's. */
const UNSEEN = /[\p{Cf}\p{Co}\p{Zl}\p{Zp}]/u;
/** Joiners belong to how some scripts and emoji are written; between letters they hide nothing. */
const JOINER = /(?<=\S)[\u200c\u200d](?=\S)/gu;
/** How rows and pages name what is no person (workspace/actor.ts). */
const RESERVED = /^(operator|system|promotion[ -]gate|a former member)$|^key |^(user|key|system):|\(you\)/i;

/**
 * Whether a text is a name that others can know a person by: something is seen, without blanks around it, and it is not what the record
 * calls the operator, a key or the system. That two people have one name is theirs: pages tell them apart.
 */
export function isPersonName(text: string): boolean {
  if (text !== text.trim() || text === '' || UNSEEN.test(text.replace(JOINER, ''))) return false;
  const plain = text.normalize('NFKC').replace(/\s+/gu, ' ');
  return /[\p{L}\p{N}\p{S}]/u.test(plain) && !RESERVED.test(plain);
}

/** What makes a name one, in words, behind "must be". */
export const PERSON_NAME_RULE =
  'a name of letters, digits or symbols, without blanks around it or characters that are not seen, and not that of the operator, a key or the system';
