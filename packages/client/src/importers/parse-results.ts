import { ImportError, type Tool } from './imported-evaluation.ts';

/** A JSON object with unknown members. */
export type Members = Readonly<Record<string, unknown>>;

/** The text of a results file in UTF-8, without its byte order mark. Throws an ImportError if it is empty or not UTF-8. */
export function textOf(bytes: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ImportError('not_this_format', 'the file is not UTF-8 text', { cause: error });
  }
  if (text.trim() === '') throw new ImportError('empty', 'the file is empty: the tool has written no result');
  return text;
}

/**
 * The JSON object of a results file. Python tools write NaN and Infinity, which JSON does not allow. They are read as null, because such a
 * score could not be computed.
 * @throws ImportError if the file is empty, is not UTF-8 or is not a JSON object
 */
export function objectOf(tool: Tool, bytes: Uint8Array): Members {
  const value = parseJson(tool, textOf(bytes));
  if (!isObject(value)) throw wrongFormatError(tool, 'it is not a JSON object');
  return value;
}

function parseJson(tool: Tool, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    try {
      return JSON.parse(text.replace(STRING_OR_NON_FINITE, (found) => (found.startsWith('"') ? found : 'null')));
    } catch {
      throw wrongFormatError(tool, `it is not JSON, or it was cut off (${(error as Error).message.slice(0, 120)})`);
    }
  }
}

/** Matches NaN and Infinity. Also matches whole strings, which stay unchanged: they may contain these words. */
const STRING_OR_NON_FINITE = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\b(?:NaN|Infinity)\b/gs;

/** The error for a file of another format. */
export const wrongFormatError = (tool: Tool, why: string, cause?: unknown): ImportError =>
  new ImportError('not_this_format', `this is not a ${FILES[tool]}: ${why}`, { cause });

const FILES: Record<Tool, string> = {
  promptfoo: 'results file of promptfoo (`promptfoo eval --output results.json`)',
  inspect_ai: 'log of Inspect AI (`logs/*.eval`, or JSON by `inspect log dump`)',
  deepeval: 'test run of DeepEval (`test_run_*.json`, `.deepeval/.latest_run_full.json`)',
  junit: 'JUnit XML report',
};

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The member of a value; undefined if the value is not an object or has no such member. */
export const memberOf = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
