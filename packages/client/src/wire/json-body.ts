import { ConfigurationError } from '../http/errors.ts';

/** The JSON text of a request's body. Throws a ConfigurationError if the value is not JSON (a circular reference, a BigInt). */
export function jsonBody(body: object): string {
  try {
    const text: string | undefined = JSON.stringify(body);
    if (text !== undefined) return text;
  } catch (error) {
    throw new ConfigurationError(`the body is not JSON: ${(error as Error).message}`, { cause: error });
  }
  throw new ConfigurationError('the body must be a JSON object');
}
