import { recordConnection } from './connection.ts';
import { Problem, requestIdOf } from './problem.ts';

/**
 * Reads the JSON of a successful response; undefined if its body is empty. Throws a Problem if the connection breaks or the body is not
 * JSON. Rethrows the error of an abort.
 */
export async function readBody(response: Response, signal?: AbortSignal): Promise<unknown> {
  const text = await response.text().catch((error: unknown) => {
    if (signal?.aborted) throw error;
    recordConnection(false);
    throw new Problem(0, 'no_response');
  });
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(response.status, 'unreadable', [], requestIdOf(response));
  }
}
