import { parseCheckpointText, type TreeLog } from './checkpoint.ts';
import { toBase64 } from './signed-note.ts';

/**
 * The header Countersign-Checkpoint: the heads of logs, without a signature, as a list of RFC 8941 (docs/formats.md, "Tree heads in a
 * header").
 */

/** A head in the header. */
export interface UnsignedHead {
  size: number;
  /** 32 bytes. */
  root: Uint8Array;
}

/** The root of an empty tree, in base64: SHA-256 of no bytes. */
const EMPTY_ROOT = '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=';

const TOKEN = "[A-Za-z*][!#$%&'*+\\-.^_`|~:/0-9A-Za-z]*";
/** A number, bytes, a boolean, a string or a token. */
const BARE_ITEM = `(?:-?\\d{1,15}(?:\\.\\d{1,3})?|:[A-Za-z0-9+/=]*:|\\?[01]|"(?:[ !#-[\\]-~]|\\\\["\\\\])*"|${TOKEN})`;
const PARAMETER = `; *([a-z*][a-z0-9_\\-.*]*)(?:=(${BARE_ITEM}))?`;
const MEMBER = new RegExp(`(${TOKEN})((?:${PARAMETER})*)`, 'y');
const COMMA = /[ \t]*,[ \t]*/y;

/** One head in the header. Clients keep it as evidence. */
export const unsignedHeadText = (log: TreeLog, size: number, root: Uint8Array): string =>
  `${log};size=${size};root=:${toBase64(root)}:`;

/**
 * Returns the heads in a kept header, by log; undefined if it is malformed. The text may start with the header's name, as in a CI log.
 * Later versions may add parameters and logs. Unknown parameters are ignored. Heads of unknown logs are returned too.
 */
export function parseUnsignedHeads(text: string): Map<string, UnsignedHead> | undefined {
  const value = text.replace(/^\s*countersign-checkpoint:/i, '').trim();
  const heads = new Map<string, UnsignedHead>();
  for (let at = 0; ; ) {
    const [member, log, parameters] = matchAt(MEMBER, value, at) ?? [];
    if (log === undefined || heads.has(log)) return undefined;
    const head = headIn(parameters!);
    if (head === undefined) return undefined;
    heads.set(log, head);
    at += member!.length;
    if (at === value.length) return heads;
    const comma = matchAt(COMMA, value, at);
    if (comma === null) return undefined;
    at += comma[0].length;
  }
}

function matchAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}

function headIn(parameters: string): UnsignedHead | undefined {
  const values = new Map([...parameters.matchAll(new RegExp(PARAMETER, 'g'))].map(([, name, value]) => [name, value]));
  const [, root] = /^:(.*):$/.exec(values.get('root') ?? '') ?? [];
  const head = parseCheckpointText(`-\n${values.get('size') ?? ''}\n${root ?? ''}\n`);
  if (head === undefined || (head.size === 0 && root !== EMPTY_ROOT)) return undefined;
  return { size: head.size, root: head.root };
}
