/** What a results file of an evaluation tool says, in the form that POST /api/v1/evaluations takes. */
export interface ImportedEvaluation {
  /** The tool whose file it is; the harness is named after it unless the caller names another. */
  tool: Tool;
  /** Name of the evaluation as the tool has it: 1 to 512 code points, no control characters. */
  name: string;
  /** Free-text category, where the file says one. */
  category?: string;
  /** `passing` for a run that came to its end with at least one case passed, `running` for one under way, else `failing`. */
  status: 'passing' | 'failing' | 'running';
  /** Share of passed cases in percent, rounded down to four decimals; absent when the run did not come to its end. */
  pass_rate?: number;
  /** A few sentences for people: the counts, what did not count as passed, and what the file does not say. */
  notes: string;
  /** The cases, where the file counts them. */
  cases?: CaseCounts;
  /** Set when skipped cases were left out of the pass rate. */
  skipped_excluded?: true;
  /** When it was run, RFC 3339 with a time zone; absent when the file does not say so beyond doubt. */
  evaluated_at?: string;
  /** How much of the suite was run, as far as the file proves it. */
  completeness: Completeness;
  /** The suite, where the file names one. */
  suite?: { name: string; version?: string };
}

/** The tools whose results can be read. */
export type Tool = 'promptfoo' | 'inspect_ai' | 'deepeval' | 'junit';

/** How much of a suite was run. */
export type Completeness = 'complete' | 'partial' | 'unknown';

/**
 * How many cases there were; `total` is the sum of the four parts. `passed` and `failed` are left out where scores are not binary.
 * Cases whose outcome is unknown count as errored.
 */
export interface CaseCounts {
  total: number;
  passed?: number;
  failed?: number;
  errored: number;
  skipped: number;
}

/** Counts of cases that each passed or did not. */
export type BinaryCounts = Required<CaseCounts>;

/** What the caller decides about a file. */
export interface ImportChoice {
  /** Take a partial run too, and record it as partial. */
  allowPartial?: boolean | undefined;
}

/** Why a file cannot be taken as the result of an evaluation. */
export type ImportFault = 'empty' | 'not_this_format' | 'no_cases' | 'contradictory' | 'ambiguous' | 'partial';

/** A results file that says nothing that could be recorded; the message names what is wrong and what to do. */
export class ImportError extends Error {
  override name = 'ImportError';
  readonly fault: ImportFault;

  constructor(fault: ImportFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/** Refuses a run that the file proves to be partial, unless the caller takes it. `why` completes "this run is partial: ". */
export function requireWhole(completeness: Completeness, why: string, { allowPartial }: ImportChoice): void {
  if (completeness !== 'partial' || allowPartial === true) return;
  throw new ImportError(
    'partial',
    `this run is partial: ${why}. Run the whole suite, or give --allow-partial to record it as partial`,
  );
}

/** Passed cases of those that count, in percent. Rounded down, so that no rounding lifts a result over a threshold. */
export const passRateOf = ({ passed, total }: { passed: number; total: number }): number =>
  Math.floor((passed * 1_000_000) / total) / 10_000;

/** Refuses counts that are none, that contradict each other, or that count nothing: an empty result never passes. */
export function checkCounts(tool: Tool, total: unknown, passed: unknown): void {
  if (!isCount(total) || !isCount(passed))
    throw new ImportError('not_this_format', `the counts of this ${tool} file are no whole numbers`);
  if (total === 0) throw new ImportError('no_cases', `this ${tool} file holds no cases: a run without cases is not recorded`);
  if (passed > total)
    throw new ImportError('contradictory', `this ${tool} file counts ${passed} cases as passed, of ${total} in all`);
}

/** Whether a value is a whole number from 0 on. */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** `3 of 4 cases passed (1 failed)`; what is zero is left out. */
export function sentenceOf(passed: number, total: number, others: Readonly<Record<string, number>>): string {
  const named = Object.entries(others).filter(([, count]) => count > 0);
  const rest = named.length === 0 ? '' : ` (${named.map(([what, count]) => `${count} ${what}`).join(', ')})`;
  return `${passed} of ${total} ${total === 1 ? 'case' : 'cases'} passed${rest}`;
}

const LABEL_LENGTH_MAX = 512;

/** The first text that can be a label, made fit for one: no control characters, at most 512 code points. */
export function labelOf(...candidates: unknown[]): string | undefined {
  for (const candidate of candidates) {
    if (typeof candidate !== 'string') continue;
    const clean = candidate
      .toWellFormed()
      .replace(/[\s\u0000-\u001f\u007f-\u009f\ufffd]+/gu, ' ')
      .trim();
    if (clean !== '') return [...clean].slice(0, LABEL_LENGTH_MAX).join('').trim();
  }
  return undefined;
}

/** The suite of a name; nothing where there is none. */
export const suiteOf = (name: string | undefined): Pick<ImportedEvaluation, 'suite'> =>
  name === undefined ? {} : { suite: { name } };
