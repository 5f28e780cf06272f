import { parseArgs } from 'node:util';
import { wrongUse } from './exit-codes.ts';

/** One option of a command, and its help. */
export interface Option {
  type: 'string' | 'boolean';
  multiple?: boolean;
  short?: string;
  /** The placeholder of its value in the help. */
  value?: string;
  help: string;
}
export type Options = Readonly<Record<string, Option>>;

/** The values of the options; `undefined` for options that were not given. */
export type Values<O extends Options> = {
  [Name in keyof O]:
    | (O[Name] extends { type: 'boolean' } ? boolean : O[Name] extends { multiple: true } ? string[] : string)
    | undefined;
};

/** Options that every command has. */
export const COMMON = {
  json: { type: 'boolean', help: 'machine-readable output; errors as JSON on stderr' },
  debug: { type: 'boolean', help: 'log requests and responses on stderr, without the key' },
  help: { type: 'boolean', short: 'h', help: 'show this text' },
} as const satisfies Options;

/** Options of the commands that call the service. */
export const CONNECTION = {
  url: { type: 'string', value: 'ADDRESS', help: 'address of the service (default: COUNTERSIGN_URL)' },
  'key-stdin': { type: 'boolean', help: 'read the ingestion key from standard input instead of COUNTERSIGN_API_KEY' },
  timeout: {
    type: 'string',
    value: 'TIME',
    help: 'time limit of one call including retries, such as 500ms, 30s or 2m (default: 30s)',
  },
  'insecure-http': { type: 'boolean', help: 'allow http: to another machine, in a network that you trust' },
} as const satisfies Options;

const HELP: readonly string[] = ['--help', '-h'];

/**
 * Whether the arguments contain the option --help or -h. The value of another option does not count: for an agent named `--help`, the gate
 * must not print its help and exit with 0.
 */
export function hasHelpOption(args: readonly string[], options: Options): boolean {
  const { tokens } = parseArgs({
    args: [...args],
    options: { ...COMMON, ...options },
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  return tokens.some(({ kind, index }) => kind === 'option' && HELP.includes(args[index]!));
}

/** Parses the arguments of a command. Throws a CommandError that names the option, but never repeats its value. */
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
    const earlierNames = new Set<string>();
    for (const token of tokens) {
      if (token.kind !== 'option') continue;
      if (earlierNames.has(token.name) && options[token.name]?.multiple !== true && token.value !== undefined)
        throw wrongUse(`--${token.name} is given twice`);
      earlierNames.add(token.name);
    }
    for (const [name, value] of Object.entries(values)) if (value === '') throw wrongUse(`--${name} is empty`);
    return { values: values as unknown as Values<O & typeof COMMON>, positionals };
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') !== true) throw error;
    throw wrongUse((error as Error).message.replace(/\. To specify a positional argument.*$/s, ''), error);
  }
}
