import { ConfigurationError } from './http/errors.ts';

/** The option names of an interface. A missing or extra name does not compile. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/** Rejects an unknown option, so that a misspelt one is not ignored. `where` is the prefix of its name. */
export function refuseUnknown<Options extends object>(where: string, given: Options, names: OptionNames<Options>): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return;
  const known = Object.keys(names).map((name) => where + name);
  throw new ConfigurationError(`unknown option ${where}${unknown}; the options are ${known.join(', ')}`);
}
