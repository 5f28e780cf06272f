/** What a results file of an evaluation tool says, in the form that POST /api/public/evaluations takes. */
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
  /** One or two sentences for people: the counts, and what of the file did not count as passed. */
  notes: string;
  counts: CaseCounts;
}

/** The tools whose results can be read. */
export type Tool = 'promptfoo' | 'inspect_ai' | 'deepeval' | 'junit';

/** How many cases there were. Whatever is neither passed nor known is not passed. */
export interface CaseCounts {
  total: number;
  passed: number;
}

/** Why a file cannot be taken as the result of an evaluation. */
export type ImportFault = 'empty' | 'not_this_format' | 'no_cases' | 'contradictory' | 'ambiguous';

/** A results file that says nothing that could be recorded; the message names what is wrong and what to do. */
export class ImportError extends Error {
  override name = 'ImportError';
  readonly fault: ImportFault;

  constructor(fault: ImportFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/** Passed cases of all, in percent. Rounded down, so that no rounding lifts a result over a threshold. */
export const passRateOf = ({ passed, total }: CaseCounts): number => Math.floor((passed * 1_000_000) / total) / 10_000;

/** Refuses counts that are none, that contradict each other, or that count nothing: an empty result never passes. */
export function checkedCounts(tool: Tool, counts: CaseCounts): CaseCounts {
  const { total, passed } = counts;
  if (!isCount(total) || !isCount(passed))
    throw new ImportError('not_this_format', `the counts of this ${tool} file are no whole numbers`);
  if (total === 0) throw new ImportError('no_cases', `this ${tool} file holds no cases: a run without cases is not recorded`);
  if (passed > total)
    throw new ImportError('contradictory', `this ${tool} file counts ${passed} cases as passed, of ${total} in all`);
  return counts;
}

/** Whether a value is a whole number from 0 on. */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** `3 of 4 cases passed (1 failed)`; what is zero is left out. */
export function sentenceOf({ passed, total }: CaseCounts, others: Readonly<Record<string, number>>): string {
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
