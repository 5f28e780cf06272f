import { resolve } from 'node:path';
import { wrongUse } from './exit-codes.ts';
import { isSameFile } from './files.ts';
import type { Session } from './session.ts';
import type { TrustOptions } from './trust-settings.ts';

/** Paths of files, by the option or variable that names them; undefined if it is not set. */
type NamedPaths = Record<string, string | undefined>;

/**
 * Throws if two output options name the same file, because the second output would overwrite the first. Also throws if an output would
 * overwrite a file with keys that the command reads.
 */
export function requireDifferentFiles(session: Session, outputs: NamedPaths, trust: TrustOptions): void {
  const optionOf = new Map<string, string>();
  for (const [option, path] of entriesOf(outputs)) {
    const otherOption = optionOf.get(resolve(path));
    if (otherOption !== undefined) throw sameFileError(otherOption, option);
    optionOf.set(resolve(path), option);
    for (const [input, keyPath] of keyFiles(session, trust)) if (isSameFile(path, keyPath)) throw sameFileError(input, option);
  }
}

/** The paths of files with keys. A value can also be the key itself; no existing file has such a name. */
const keyFiles = (session: Session, { trust, 'verify-key': keys = [] }: TrustOptions): [string, string][] => [
  ...entriesOf({
    '--trust': trust,
    COUNTERSIGN_TRUST_FILE: session.variable('COUNTERSIGN_TRUST_FILE'),
    COUNTERSIGN_VERIFY_KEY_FILE: session.variable('COUNTERSIGN_VERIFY_KEY_FILE'),
  }),
  ...keys.map((key): [string, string] => ['--verify-key', key]),
];

const entriesOf = (paths: NamedPaths): [string, string][] =>
  Object.entries(paths).filter((each): each is [string, string] => each[1] !== undefined);

const sameFileError = (one: string, otherOption: string) => wrongUse(`${one} and ${otherOption} name the same file`);
