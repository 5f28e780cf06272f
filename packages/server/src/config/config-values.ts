import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { ExitError } from '../errors/exit-codes.ts';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Parses the text of a variable. The text is undefined if the variable is not set and has no default.
 * @throws ExitError that names the variable.
 */
export type Reader<T> = (text: string | undefined, name: string) => T;

/** The error for a variable: its name, and what is wrong or what to do. */
export const variableError = (name: string, what: string): ExitError => new ExitError('bad_configuration', `${name} ${what}`);

/** The trimmed value of a variable; undefined if it is blank. */
export const valueUnlessBlank = (value: string | undefined): string | undefined =>
  value === undefined || value.trim() === '' ? undefined : value.trim();

/**
 * A secret given by value, or by the file that `<NAME>_FILE` names; undefined if neither is set. Throws if both are set, or if the file
 * cannot be read.
 */
export function valueOrFile(environment: Environment, name: string): string | undefined {
  const value = valueUnlessBlank(environment[name]);
  const path = valueUnlessBlank(environment[`${name}_FILE`]);
  if (value !== undefined && path !== undefined) throw variableError(name, `and ${name}_FILE are both set; set one of them`);
  return path === undefined ? value : file(path, `${name}_FILE`);
}

/** Any text, unchanged. */
export function text(value: string | undefined): string | undefined {
  return value;
}

/** A whole number within inclusive bounds. */
export function wholeNumber(minimum: number, maximum: number) {
  return (value: string | undefined, name: string): number => {
    const number = Number(value);
    if (value === undefined || !/^\d+$/.test(value) || number < minimum || number > maximum) {
      throw variableError(name, `must be a whole number from ${minimum} to ${maximum}, got ${JSON.stringify(value)}`);
    }
    return number;
  };
}

/** Reads a variable that may be absent: undefined if it is not set. */
export function optional<T>(read: Reader<T>) {
  return (value: string | undefined, name: string): T | undefined => (value === undefined ? undefined : read(value, name));
}

/** One of `values`. */
export function oneOf(values: readonly string[]) {
  return (value: string | undefined, name: string): string => {
    if (value === undefined || !values.includes(value))
      throw variableError(name, `must be one of ${values.join(', ')}, got ${JSON.stringify(value)}`);
    return value;
  };
}

/** true or false. */
export function flag(value: string | undefined, name: string): boolean {
  if (value !== 'true' && value !== 'false') throw variableError(name, `must be true or false, got ${JSON.stringify(value)}`);
  return value === 'true';
}

/** An origin: scheme, host and port of a web address, without a path. */
export function origin(value: string | undefined, name: string): string {
  const url = value !== undefined && URL.canParse(value) ? new URL(value) : undefined;
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
  if (!isOrigin)
    throw variableError(name, `must be an origin such as https://countersign.example.com, got ${JSON.stringify(value)}`);
  return url.origin;
}

/** Host names or bracketed IPv6 addresses, separated by commas. A variable that is set must name at least one. */
export function hostNames(value: string | undefined, name: string): string[] {
  if (value === undefined) return [];
  const names = value
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  const wrongName = names.length === 0 ? value : names.find((each) => !/^(?:[\w.-]+|\[[0-9a-f:.]+\])$/i.test(each));
  if (wrongName !== undefined)
    throw variableError(
      name,
      `must be host names without scheme and port, separated by commas, got ${JSON.stringify(wrongName)}`,
    );
  return names;
}

/** A bearer token (RFC 6750). The value is not repeated in the message. */
export function bearerToken(value: string | undefined, name: string): string {
  if (value === undefined || !/^[\w.~+/-]{16,}=*$/.test(value))
    throw variableError(
      name,
      'must have at least 16 characters, each a letter, a digit or one of . _ ~ + / -; create one with `openssl rand -hex 32`',
    );
  return value;
}

/** A URL of PostgreSQL. */
export function databaseUrl(value: string | undefined, name: string): string | undefined {
  // The value is not repeated in the message: it may contain a password.
  if (value !== undefined && !/^postgres(ql)?:\/\/./.test(value))
    throw variableError(name, 'must be a URL that begins with postgres:// or postgresql://');
  return value;
}

/** The content of a file; undefined without a path. */
export function file(path: string | undefined, name: string): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw variableError(name, `names a file that cannot be read: ${(error as Error).message}`);
  }
}

/** Returns the texts if they are a certificate and its key. @throws ExitError otherwise. */
export function requireTlsPair(cert: string, key: string): { cert: string; key: string } {
  try {
    createSecureContext({ cert, key });
    return { cert, key };
  } catch (error) {
    const reason = (error as Error).message;
    throw variableError(
      'COUNTERSIGN_TLS_CERT_FILE',
      `and COUNTERSIGN_TLS_KEY_FILE do not contain a certificate and its key: ${reason}`,
    );
  }
}

/** A passphrase of at least 12 code points, so that it resists guessing. The value is not repeated in the message. */
export function passphrase(value: string | undefined, name: string): string {
  if (value === undefined || [...value].length < 12) throw variableError(name, 'must have at least 12 characters');
  return value;
}
