import { ConfigurationError } from './http/errors.ts';

/** An option that is a number above 0, or its default. Throws a ConfigurationError that names the option. */
export function positiveOption(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value !== 'number' || !(value > 0))
    throw new ConfigurationError(`${name} must be a number above 0, got ${String(value)}`);
  return value;
}
