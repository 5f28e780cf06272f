import { ConfigurationError } from './http/errors.ts';

/** Refuses an option that does not exist: a misspelt one would be passed over, and the default taken. `where` stands before its name. */
export function refuseUnknown(where: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new ConfigurationError(`there is no option ${where}${unknown}; there is ${known.map((name) => where + name).join(', ')}`);
}
