import { createHash } from 'node:crypto';
import { importDeepEval } from '../importers/deepeval.ts';
import { ImportError, type ImportedEvaluation } from '../importers/imported-evaluation.ts';
import { importInspect } from '../importers/inspect.ts';
import { importJUnit } from '../importers/junit.ts';
import { importPromptfoo } from '../importers/promptfoo.ts';
import { CommandError, wrongUse } from './exit-codes.ts';
import { readFile } from './files.ts';
import { shortLine } from './plain-text.ts';

/** The options that name a results file. */
export const RESULTS_FILES = ['promptfoo', 'inspect', 'deepeval', 'junit'] as const;
type Kind = (typeof RESULTS_FILES)[number];

/** The options that matter for a results file. */
export interface ResultsOptions extends Partial<Record<Kind, string | undefined>> {
  agent?: string | undefined;
  'agent-id'?: string | undefined;
  'pass-rate'?: string | undefined;
  status?: string | undefined;
  'evaluated-at'?: string | undefined;
  metric?: string | undefined;
  'ignore-skipped'?: boolean | undefined;
  'allow-partial'?: boolean | undefined;
  partial?: boolean | undefined;
}

/** The options that apply to the files of one tool. */
const OPTIONS_OF_TOOLS = [
  ['metric', 'inspect'],
  ['ignore-skipped', 'junit'],
] as const;

/** An imported results file. */
export interface ResultsFile extends ImportedEvaluation {
  /** SHA-256 of the file's bytes, in hex. */
  sha256: string;
}

/**
 * Imports the results file; undefined if no option names one.
 * @throws CommandError if options contradict each other, or if the file is rejected. In the second case, the message says that nothing was
 * recorded, and how to record a failure.
 */
export function readResultsFile(options: ResultsOptions): ResultsFile | undefined {
  const [kind, ...others] = RESULTS_FILES.filter((name) => options[name] !== undefined);
  for (const [option, tool] of OPTIONS_OF_TOOLS)
    if (options[option] !== undefined && kind !== tool) throw wrongUse(`--${option} needs --${tool}`);
  if (kind === undefined && options['allow-partial'] !== undefined)
    throw wrongUse('--allow-partial needs a results file; --partial records an evaluation as partial');
  if (kind === undefined) return undefined;
  if (others.length > 0) throw wrongUse(`give one results file, not --${[kind, ...others].join(' and --')}`);
  for (const name of ['pass-rate', 'status'] as const)
    if (options[name] !== undefined) throw wrongUse(`--${name} and --${kind} cannot be combined: the file contains this value`);
  const path = options[kind]!;
  try {
    const bytes = readFile(path);
    const imported = importFile(kind, bytes, options);
    requireNotNewer(imported, options['evaluated-at']);
    return { ...imported, sha256: createHash('sha256').update(bytes).digest('hex') };
  } catch (error) {
    if (error instanceof ImportError) throw rejection(options, `${JSON.stringify(path)}: ${error.message}`, error);
    if (error instanceof CommandError) throw rejection(options, error.message, error);
    throw error;
  }
}

/** Adds to a message that nothing was recorded, and how to record a failure. */
export function rejection(options: ResultsOptions, message: string, cause?: unknown): CommandError {
  const agent = options.agent === undefined ? `--agent-id ${options['agent-id'] ?? 'UUID'}` : `--agent ${quote(options.agent)}`;
  return wrongUse(
    `${shortLine(message, 600).replace(/[.;]$/, '')}. Nothing was recorded, so the previous evaluation still counts. ` +
      `To record a failed evaluation: countersign evaluate record ${agent} --name NAME --status failing`,
    cause,
  );
}

/** Quotes an argument for a shell. */
const quote = (text: string): string =>
  /^[\w./:@+-]+$/.test(text) ? text : `'${shortLine(text, 120).replaceAll("'", String.raw`'\''`)}'`;

function importFile(kind: Kind, bytes: Uint8Array, options: ResultsOptions): ImportedEvaluation {
  const choice = { allowPartial: options['allow-partial'] === true || options.partial === true };
  switch (kind) {
    case 'promptfoo':
      return importPromptfoo(bytes, choice);
    case 'inspect':
      return importInspect(bytes, { ...choice, metric: options.metric });
    case 'deepeval':
      return importDeepEval(bytes);
    case 'junit':
      return importJUnit(bytes, { ignoreSkipped: options['ignore-skipped'] === true });
  }
}

/** Throws an ImportError if `--evaluated-at` is later than the time in the file. An earlier time is accepted. */
function requireNotNewer({ evaluated_at: fileTime }: ImportedEvaluation, optionTime: string | undefined): void {
  if (fileTime === undefined || optionTime === undefined || !(Date.parse(optionTime) > Date.parse(fileTime))) return;
  throw new ImportError(
    'contradictory',
    `the evaluation ran at ${fileTime} according to the file, before --evaluated-at ${optionTime}; leave out --evaluated-at`,
  );
}
