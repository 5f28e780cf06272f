import { ConfigurationError } from './http/errors.ts';

/** The option names of an interface. A missing or extra name does not compile. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/**
 * Throws a ConfigurationError if the options are not an object, or if an option is unknown: a misspelled option must not be ignored.
 * `prefix` precedes the name of the option in the message.
 */
export function rejectUnknownOption<Options extends object>(prefix: string, options: Options, names: OptionNames<Options>): void {
  if (typeof options !== 'object' || options === null)
    throw new ConfigurationError(`${prefix === '' ? 'the options' : prefix.slice(0, -1)} must be an object`);
  const unknownName = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknownName === undefined) return;
  const knownNames = Object.keys(names).map((name) => prefix + name);
  throw new ConfigurationError(`unknown option ${prefix}${unknownName}; the options are ${knownNames.join(', ')}`);
}
