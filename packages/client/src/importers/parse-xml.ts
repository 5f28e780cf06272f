import { parseXml, XmlComment, XmlElement, XmlNode } from '@rgrove/parse-xml';

/** The part of an XML element that reports need. */
export interface Element {
  /** The name without its prefix and in lower case, so that `n:Failure` is read as `failure`. */
  name: string;
  /** The attributes as they are written. */
  attributes: Readonly<Record<string, string>>;
  /** The elements directly in this element. Text is left out. */
  elements: Element[];
  /** The comments directly in this element. node:test writes its totals as comments. */
  comments: string[];
}

/**
 * The root of well-formed XML 1.0. Characters that XML does not allow are accepted in texts and values, because test runners write color
 * codes of terminals there. Every document is untrusted, so a document type declaration is rejected. Without one, a document can neither
 * define entities nor load files.
 * @throws Error with the fault and, if the XML is malformed, its position.
 */
export function rootOf(text: string): Element {
  const { children } = parseXmlText(withoutStrayCdataEnds(withoutInvalidCharacters(text)));
  if (children.some(({ type }) => type === XmlNode.TYPE_DOCUMENT_TYPE))
    throw new Error('it has a document type declaration (DOCTYPE), which a report never needs');
  return elementOf(children.find((child) => child instanceof XmlElement)!);
}

/** Matches invalid characters, and every numeric character reference, because it may represent an invalid character. */
const INVALID_OR_REFERENCE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|&#(?:x([\da-f]{1,8})|(\d{1,8}));/gi;

/** Replaces an invalid character. `*` is not allowed in names and tags, so a document with an invalid character in one stays malformed. */
const REPLACEMENT = '*';

const withoutInvalidCharacters = (text: string): string =>
  text.replace(INVALID_OR_REFERENCE, (found, hex?: string, decimal?: string) => {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return isXmlCharacter(code) ? found : REPLACEMENT;
  });

/** Whether XML 1.0 allows a code point (section 2.2). */
const isXmlCharacter = (code: number): boolean =>
  [0x09, 0x0a, 0x0d].includes(code) ||
  (code >= 0x20 && code <= 0xd7ff) ||
  (code >= 0xe000 && code <= 0xfffd) ||
  (code >= 0x10000 && code <= 0x10ffff);

/** Escapes every `]]>` outside a CDATA section. XML requires it in texts, but node:test writes it unchanged. */
function withoutStrayCdataEnds(text: string): string {
  let isInCdata = false;
  return text.replace(/<!\[CDATA\[|\]\]>/g, (found) => {
    const isStray = found === ']]>' && !isInCdata;
    isInCdata = found !== ']]>';
    return isStray ? ']]&gt;' : found;
  });
}

function parseXmlText(text: string) {
  try {
    return parseXml(text, { preserveDocumentType: true, preserveComments: true });
  } catch (error) {
    // The parser is recursive: deeply nested tags overflow the stack.
    if (error instanceof RangeError) throw depthError(error);
    throw new Error((error as Error).message.split('\n', 1)[0], { cause: error });
  }
}

/** The maximum depth of elements, so that the functions that visit them recursively do not overflow the stack. */
const DEPTH_MAX = 500;

const depthError = (cause?: unknown): Error =>
  new Error(`its elements are nested too deeply, more than ${DEPTH_MAX} levels`, { cause });

function elementOf({ name, attributes, children }: XmlElement, depth = 1): Element {
  if (depth > DEPTH_MAX) throw depthError();
  const elements = children.filter((child) => child instanceof XmlElement);
  return {
    name: localName(name),
    attributes,
    elements: elements.map((child) => elementOf(child, depth + 1)),
    comments: children.filter((child) => child instanceof XmlComment).map(({ content }) => content),
  };
}

const localName = (name: string): string => name.slice(name.lastIndexOf(':') + 1).toLowerCase();

/** The values of an attribute that are not blank, whatever its prefix and its capitals are. */
export const valuesOf = ({ attributes }: Element, name: string): string[] =>
  Object.keys(attributes)
    .filter((each) => localName(each) === name)
    .map((each) => attributes[each]!.trim())
    .filter((value) => value !== '');
