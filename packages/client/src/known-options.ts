import { ConfigurationError } from './http/errors.ts';

/** The names of an interface's options: one that is left out, or is none, does not compile. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/** Refuses an option that does not exist: a misspelt one would be passed over, and the default taken. `where` stands before its name. */
export function refuseUnknown<Options extends object>(where: string, given: Options, names: OptionNames<Options>): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return;
  const known = Object.keys(names).map((name) => where + name);
  throw new ConfigurationError(`there is no option ${where}${unknown}; there is ${known.join(', ')}`);
}
