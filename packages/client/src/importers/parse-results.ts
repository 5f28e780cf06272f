import { ImportError, type Tool } from './imported-evaluation.ts';

/** A JSON object whose members are not known yet. */
export type Members = Readonly<Record<string, unknown>>;

/** The text of a results file: UTF-8, a byte order mark left out. Refuses a file that is empty or no text. */
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
 * The JSON object of a results file. Python's tools write NaN and Infinity, which JSON has not: they are read as null, which is
 * what they mean there (a score that could not be had).
 */
export function objectOf(tool: Tool, bytes: Uint8Array): Members {
  const value = parsed(tool, textOf(bytes));
  if (!isObject(value)) throw notThisFormat(tool, 'it is JSON, but no object');
  return value;
}

function parsed(tool: Tool, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    try {
      return JSON.parse(text.replace(STRING_OR_NO_NUMBER, (found) => (found.startsWith('"') ? found : 'null')));
    } catch {
      throw notThisFormat(tool, `it is not JSON, or cut off (${(error as Error).message.slice(0, 120)})`);
    }
  }
}

/** Strings are matched as well, so that what stands inside them is left alone. */
const STRING_OR_NO_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\b(?:NaN|Infinity)\b/gs;

/** Says that a file is not one of the tool's, and what was looked for. */
export const notThisFormat = (tool: Tool, why: string): ImportError =>
  new ImportError('not_this_format', `this is no ${FILES[tool]}: ${why}`);

const FILES: Record<Tool, string> = {
  promptfoo: 'results file of promptfoo (`promptfoo eval --output results.json`)',
  inspect_ai: 'log of Inspect AI (`logs/*.eval`, or JSON by `inspect log dump`)',
  deepeval: 'test run of DeepEval (`test_run_*.json`, `.deepeval/.latest_run_full.json`)',
  junit: 'JUnit XML report',
};

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The member of an object, if the value is one and has it. */
export const memberOf = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
