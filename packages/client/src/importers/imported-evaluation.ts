/** The content of a results file, in the terms of POST /api/v1/evaluations. */
export interface ImportedEvaluation {
  /** The tool that wrote the file. It is the default name of the harness. */
  tool: Tool;
  /** Name of the evaluation in the tool: 1 to 512 code points, no control characters. */
  name: string;
  /** Free-text category, if the file has one. */
  category?: string;
  /** `passing` for a finished, valid run with a pass rate above 0, `running` for one that has not ended, else `failing`. */
  status: 'passing' | 'failing' | 'running';
  /** Share of passed cases (Inspect AI: from the metric) in percent, rounded down to four decimals; absent if the run did not finish. */
  pass_rate?: number;
  /** Notes for people: the counts by outcome, contradictions, and what the file does not contain. */
  notes: string;
  /** The counts of cases, if the file has them. */
  cases?: CaseCounts;
  /** Set if skipped cases were left out of the pass rate. */
  skipped_excluded?: true;
  /** When the evaluation ran, RFC 3339 with a time zone; absent if the file has no clear time. */
  evaluated_at?: string;
  /** How much of the suite ran, as far as the file proves it. */
  completeness: Completeness;
  /** The suite, if the file names one. */
  suite?: { name: string; version?: string };
}

/** The tools whose results can be read. */
export type Tool = 'promptfoo' | 'inspect_ai' | 'deepeval' | 'junit';

/** How much of a suite ran, as far as it is known. */
export type Completeness = 'complete' | 'partial' | 'unknown';

/**
 * The number of cases by outcome. `passed` and `failed` are left out if scores are not binary; otherwise `total` is the sum of the four
 * parts. Cases whose outcome is unknown count as errored.
 */
export interface CaseCounts {
  total: number;
  passed?: number;
  failed?: number;
  errored: number;
  skipped: number;
}

/** The counts if every outcome is binary: `passed` and `failed` are always set. */
export type BinaryCounts = Required<CaseCounts>;

/** The caller's choices for an import. */
export interface ImportChoice {
  /** Accept a partial run and record it as partial. */
  allowPartial?: boolean | undefined;
}

/** Why a file cannot be imported. */
export type ImportFault = 'empty' | 'not_this_format' | 'no_cases' | 'contradictory' | 'ambiguous' | 'partial';

/** A results file that cannot be recorded; the message says why and what to do. */
export class ImportError extends Error {
  override name = 'ImportError';
  readonly fault: ImportFault;

  constructor(fault: ImportFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/** Throws an ImportError if the run is partial, unless the caller accepts partial runs. `why` completes "this run is partial: ". */
export function requireWhole(completeness: Completeness, why: string, { allowPartial }: ImportChoice): void {
  if (completeness !== 'partial' || allowPartial === true) return;
  throw new ImportError(
    'partial',
    `this run is partial: ${why}. Run the whole suite, or give --allow-partial to record it as partial`,
  );
}

/** Passed cases in percent. Rounded down, so that rounding never raises a result above a threshold. */
export const passRateOf = ({ passed, total }: { passed: number; total: number }): number =>
  Math.floor((passed * 1_000_000) / total) / 10_000;

/**
 * Throws an ImportError if a number is invalid, if `count` exceeds `total`, or if `total` is 0, because a run without cases is not
 * recorded.
 * @param outcome the outcome of the cases in `count`, for the message
 */
export function checkCounts(tool: Tool, total: unknown, count: unknown, outcome: 'passed' | 'completed' = 'passed'): void {
  if (!isCount(total) || !isCount(count))
    throw new ImportError('not_this_format', `the counts of this ${tool} file are not whole numbers`);
  if (total === 0) throw new ImportError('no_cases', `this ${tool} file has no cases: a run without cases is not recorded`);
  if (count > total)
    throw new ImportError('contradictory', `this ${tool} file counts ${count} cases as ${outcome}, but only ${total} in all`);
}

/** Whether a value is a whole number of at least 0. */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** `3 of 4 cases passed (1 failed)`; counts of zero are left out. */
export function sentenceOf(passed: number, total: number, others: Readonly<Record<string, number>>): string {
  const nonZeroCounts = Object.entries(others).filter(([, count]) => count > 0);
  const otherCases =
    nonZeroCounts.length === 0 ? '' : ` (${nonZeroCounts.map(([what, count]) => `${count} ${what}`).join(', ')})`;
  return `${passed} of ${total} ${total === 1 ? 'case' : 'cases'} passed${otherCases}`;
}

const LABEL_LENGTH_MAX = 512;

/** The first text that can be a label, without control characters and cut to 512 code points. */
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

/** The member `suite` for a name; no member without a name. */
export const suiteOf = (name: string | undefined): Pick<ImportedEvaluation, 'suite'> =>
  name === undefined ? {} : { suite: { name } };
