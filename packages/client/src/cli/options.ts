import { parseArgs } from 'node:util';
import { wrongUse } from './exit-codes.ts';

/** One option of a command: what it takes, and what its help says. */
export interface Option {
  type: 'string' | 'boolean';
  multiple?: boolean;
  short?: string;
  /** What the help calls its value. */
  value?: string;
  help: string;
}
export type Options = Readonly<Record<string, Option>>;

/** What was given for each option; `undefined` where nothing was. */
export type Values<O extends Options> = {
  [Name in keyof O]:
    | (O[Name] extends { type: 'boolean' } ? boolean : O[Name] extends { multiple: true } ? string[] : string)
    | undefined;
};

/** Options that every command has. */
export const COMMON = {
  json: { type: 'boolean', help: 'machine-readable output; errors as JSON on stderr' },
  debug: { type: 'boolean', help: 'say on stderr what is sent and what comes back, never the key' },
  help: { type: 'boolean', short: 'h', help: 'this text' },
} as const satisfies Options;

/** Options of the commands that call the service. */
export const CONNECTION = {
  url: { type: 'string', value: 'ADDRESS', help: 'address of the service (COUNTERSIGN_URL)' },
  'key-stdin': { type: 'boolean', help: 'read the ingestion key from standard input instead of COUNTERSIGN_API_KEY' },
  timeout: { type: 'string', value: 'TIME', help: 'how long one call is tried, retries included: 500ms, 30s, 2m (30s)' },
  'insecure-http': { type: 'boolean', help: 'send the key over http: to another machine too, in a network that is trusted' },
} as const satisfies Options;

/** Reads a command's arguments. Throws wrong use that names the option; an option's value is never repeated. */
export function readArguments<O extends Options>(
  args: readonly string[],
  options: O,
): { values: Values<O & typeof COMMON>; positionals: string[] } {
  try {
    const { values, positionals, tokens } = parseArgs({
      args: [...args],
      options: { ...COMMON, ...options },
      allowPositionals: true,
      strict: true,
      tokens: true,
    });
    const seen = new Set<string>();
    for (const token of tokens) {
      if (token.kind !== 'option') continue;
      if (seen.has(token.name) && options[token.name]?.multiple !== true && token.value !== undefined)
        throw wrongUse(`--${token.name} is given twice`);
      seen.add(token.name);
    }
    for (const [name, value] of Object.entries(values)) if (value === '') throw wrongUse(`--${name} is empty`);
    return { values: values as unknown as Values<O & typeof COMMON>, positionals };
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') !== true) throw error;
    throw wrongUse((error as Error).message.replace(/\. To specify a positional argument.*$/s, ''), error);
  }
}
