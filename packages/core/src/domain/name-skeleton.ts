import { CONFUSABLES } from './confusables-data.ts';

/**
 * The keys for comparing names. Two names look alike if their skeletons by Unicode Technical Standard #39 are equal, ignoring case, runs of
 * white space and widths (docs/decisions/0040). A change of the keys needs a migration that removes their stored digests.
 *
 * Two keys are needed, because a capital letter and its small letter have different look-alikes. Capital I looks
 * like l, but small i does not. Capital Cyrillic Н looks like H, but small н does not look like h.
 */
export interface NameSkeletons {
  /** Equal for names that differ at most by case after look-alike letters are replaced, such as `PaypaI` and `paypal`. */
  asWritten: string;
  /** Equal for names that look alike when written in small letters, such as `INVOICE` and `invoice`. */
  caseless: string;
}

/**
 * Returns both keys of a name. A run of white space counts as one space, because HTML shows no difference. White space at the ends, and
 * invisible characters, which old names may have, are ignored.
 */
export function nameSkeletons(name: string): NameSkeletons {
  const visibleName = name.replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  const trimmed = visibleName.replace(/\p{White_Space}+/gu, ' ').replace(/^ | $/g, '');
  return { asWritten: skeleton(foldCase(skeleton(trimmed))), caseless: skeleton(foldCase(trimmed)) };
}

/** Whether two names look alike: at least one of their two keys is equal. */
export function namesLookAlike(a: string, b: string): boolean {
  const [first, second] = [nameSkeletons(a), nameSkeletons(b)];
  return first.asWritten === second.asWritten || first.caseless === second.caseless;
}

/** Approximates Unicode's full case folding by JavaScript's functions, so that ß and SS are equal. The first step turns ẞ into ß. */
const foldCase = (text: string): string => text.toLowerCase().toUpperCase().toLowerCase();

// The ASCII characters that the table replaces. Most names are ASCII without them, and equal their skeleton.
const CONFUSABLE_ASCII = /["%01I`m|]/;

/** The skeleton of UTS #39, section 4, without its treatment of right-to-left text. */
function skeleton(text: string): string {
  if (/^[\x00-\x7f]*$/.test(text) && !CONFUSABLE_ASCII.test(text)) return text;
  let mapped = '';
  for (const character of text.normalize('NFD')) mapped += prototypes().get(character) ?? character;
  return mapped.normalize('NFD');
}

let table: Map<string, string> | undefined;

/** The text that replaces each confusable character. The map is built at the first use, because few processes need it. */
function prototypes(): Map<string, string> {
  table ??= readTable();
  return table;
}

function readTable(): Map<string, string> {
  const mapping = new Map<string, string>();
  const number = (digits: string) => Number.parseInt(digits, 36);
  for (const entry of CONFUSABLES.split(' ')) {
    const [target = '', distances = ''] = entry.split(':');
    const prototype = String.fromCodePoint(...target.split('+').map(number));
    let source = 0;
    for (const distance of distances.split('.')) {
      source += number(distance);
      mapping.set(String.fromCodePoint(source), prototype);
    }
  }
  for (const [first, last] of WIDTHS) addWidths(mapping, first, last);
  mapping.set(MONGOLIAN_HYPHEN, '-');
  return mapping;
}

/** The ranges of full-width, half-width and small forms. The table of UTS #39 lists only a part of them. */
const WIDTHS = [
  [0xff01, 0xffee],
  [0xfe50, 0xfe6b],
] as const;

/** This hyphen is in neither the table nor the ranges. */
const MONGOLIAN_HYPHEN = '\u1806';

/** The table replaces this hyphen by a Japanese long vowel mark. Here, its ordinary form `-` replaces it. */
const FULL_WIDTH_HYPHEN = '\uff0d';

/** Adds the forms from `first` to `last` that the table leaves out. Each form gets the replacement of its ordinary form. */
function addWidths(mapping: Map<string, string>, first: number, last: number): void {
  for (let codePoint = first; codePoint <= last; codePoint += 1) {
    const form = String.fromCodePoint(codePoint);
    if (mapping.has(form) && form !== FULL_WIDTH_HYPHEN) continue;
    const ordinary = [...form.normalize('NFKD')].map((character) => mapping.get(character) ?? character).join('');
    if (ordinary !== form) mapping.set(form, ordinary);
  }
}
