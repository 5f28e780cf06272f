import { isUtf8 } from 'node:buffer';
import { randomInt } from 'node:crypto';
import { exceededBound, type JsonBounds } from '@countersign/core/domain/json-size';
import { ApiError, validationFailed } from '../errors/api-error.ts';
import { isLight } from './body-bounds.ts';

const SEED = randomInt(2 ** 32);

/**
 * Parses a body as JSON in UTF-8 (RFC 8259). Throws `invalid_json` for anything else, with the position of the error if it is known. In
 * bodies that are not light (`isLight`), it first counts values and names, and throws `validation_failed` if there are too many. A few
 * megabytes can contain millions of values, and parsing them would take seconds and gigabytes.
 */
export function parseJson(document: Buffer, bounds: JsonBounds): { text: string; value: unknown } {
  if (document.length === 0) throw notJson('the body is empty; send a JSON object');
  if (!isUtf8(document)) throw notJson('the body is not UTF-8; send JSON in UTF-8');
  if (!isLight(document)) checkBounds(document, bounds);
  const text = document.toString('utf8');
  if (text.charCodeAt(0) === 0xfeff)
    throw notJson('the body begins with a byte order mark; leave it out (RFC 8259, section 8.1)');
  try {
    return { text, value: JSON.parse(text) };
  } catch (error) {
    throw notJson(`the body is not JSON: ${reasonOf(error as Error, text.length)}`);
  }
}

function checkBounds(document: Buffer, bounds: JsonBounds): void {
  const exceeded = exceededBound(document, bounds, SEED);
  if (exceeded === undefined) return;
  const limitedItems = exceeded === 'valuesMax' ? 'JSON values' : 'different member names';
  throw validationFailed({
    path: '',
    code: exceeded === 'valuesMax' ? 'too_many_values' : 'too_many_names',
    message: `the body has more than ${bounds[exceeded]} ${limitedItems}; split the body into several requests, or send large nested data as one JSON string`,
  });
}

/**
 * The reason in V8's message, without the quoted part of the body, which may be secret. If the error is at the end of the text, the text
 * was cut off.
 */
function reasonOf({ message }: Error, length: number): string {
  const position = /at position (\d+)/.exec(message)?.[1];
  if (/^Unexpected end/.test(message) || Number(position) === length) return 'it is cut off';
  return position === undefined ? 'unexpected token' : `unexpected token at character ${position}`;
}

const notJson = (message: string): ApiError => new ApiError('invalid_json', [{ path: '', code: 'not_json', message }]);
