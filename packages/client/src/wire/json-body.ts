import { ConfigurationError } from '../http/errors.ts';

/** The JSON text of a request's body. What JSON cannot hold (a circle, a BigInt) is an error that names the reason. */
export function jsonBody(body: object): string {
  try {
    const text: string | undefined = JSON.stringify(body);
    if (text !== undefined) return text;
  } catch (error) {
    throw new ConfigurationError(`the body is no JSON: ${(error as Error).message}`, { cause: error });
  }
  throw new ConfigurationError('the body is no JSON: an object is needed');
}
