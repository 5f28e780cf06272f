import { type Static, Type } from 'typebox';
import { CaseCounts } from './case-counts.ts';
import { Evaluation } from './evaluation.ts';
import {
  amount,
  digest,
  flag,
  label,
  labels,
  nullable,
  objectOf,
  oneOf,
  optional,
  percentage,
  sentDateTime,
  sha256Hex,
  uuid,
  webAddress,
} from './scalars.ts';

/** How much of a suite ran. */
export const COMPLETENESS = ['complete', 'partial', 'unknown'] as const;
export type Completeness = (typeof COMPLETENESS)[number];

/** The maximum number of items in `blocking_failures` and in `trace_ids`. */
const LIST_ITEMS_MAX = 100;

/** How far `evaluated_at` may be ahead of the database's clock, in minutes. */
export const FUTURE_MINUTES_MAX = 5;

/** The set of cases that an evaluation ran. */
export const EvaluationSuite = Type.Object(
  {
    name: label({ description: 'Name of the suite.', examples: ['safety'] }),
    version: optional(label({ description: 'Version of the suite, as its authors number it.', examples: ['2026.4'] })),
    digest: optional(digest({ description: 'Digest of the suite: it identifies exactly what was run.' })),
  },
  { $id: 'EvaluationSuite', additionalProperties: false, description: 'The set of cases that an evaluation ran.' },
);
export type EvaluationSuite = Static<typeof EvaluationSuite>;

const { pass_rate: _, ...otherProperties } = Evaluation.properties;

/** Body of POST /api/v1/evaluations: an evaluation with details. */
export const DetailedEvaluation = Type.Object(
  {
    ...otherProperties,
    pass_rate: optional(
      percentage({
        description:
          'Share of passed cases, in percent; by default computed from cases. If both are sent, they may differ by at most 0.1 ' +
          'percentage points, and the lower one counts. Without cases.passed, pass_rate may be at most 0.1 percentage points above the ' +
          'share of scored cases.',
        examples: [92.5],
      }),
    ),
    evaluated_at: optional(
      sentDateTime({
        description:
          "When the evaluation ran, by its sender's clock. The evaluation's age counts from this time or the time of recording, " +
          'whichever is earlier.',
      }),
    ),
    cases: optional(objectOf<CaseCounts>(CaseCounts, { description: 'The counts of cases by outcome.' })),
    skipped_excluded: optional(
      flag({
        description: 'true: skipped cases are not in the denominator of the pass rate. false: they count as not passed.',
        default: false,
      }),
    ),
    partial: optional(flag({ description: 'true: only a part of the suite ran. The same as completeness `partial`.' })),
    completeness: optional(
      oneOf(COMPLETENESS, {
        description: 'How much of the suite ran; `unknown` if the tool does not report it. Promotion checks do not use it.',
      }),
    ),
    blocking_failures: optional(
      labels(LIST_ITEMS_MAX, {
        description:
          'Names of failed cases that matter whatever the pass rate is. They are for people: promotion checks do not use them.',
        examples: [['refuses to reveal card numbers']],
      }),
    ),
    max_severity: optional(
      amount({
        description: 'Highest severity found, on the scale of severity_threshold. Promotion checks do not use it.',
        examples: [2],
      }),
    ),
    suite: optional(
      objectOf<EvaluationSuite>(EvaluationSuite, {
        description: 'The set of cases that ran. Promotion checks name it in messages, but no verdict depends on it.',
      }),
    ),
    results_sha256: optional(
      sha256Hex({ description: "SHA-256 of the evaluation tool's results file, 64 lower-case hex digits." }),
    ),
    run_url: optional(
      webAddress({
        description: 'Page of the run, http or https; at most 2,048 characters, without a user name or password.',
        examples: ['https://ci.example.com/runs/7'],
      }),
    ),
    trace_ids: optional(
      labels(LIST_ITEMS_MAX, {
        description: 'trace_id of the runs that were evaluated, as sent to the traces endpoint.',
        examples: [['run-2026-11-20-0001']],
      }),
    ),
    artifact: optional(
      digest({
        description: 'Digest of what was evaluated: image, commit, package or configuration. Promotion checks do not use it.',
      }),
    ),
  },
  {
    $id: 'DetailedEvaluation',
    additionalProperties: false,
    description: 'The outcome of one evaluation run, with its cases, time, suite and artifact.',
  },
);
export type DetailedEvaluation = Static<typeof DetailedEvaluation>;

/** Response of POST /api/v1/evaluations. */
export const DetailedEvaluationAccepted = Type.Object(
  {
    ok: flag({ description: 'Always true: the record is committed.' }),
    id: uuid({ description: 'ID of the evaluation.' }),
    pass_rate: nullable(
      percentage({
        description: 'The pass rate that promotion checks use, in percent. null if there is none: promotion checks then block.',
      }),
    ),
  },
  { $id: 'DetailedEvaluationAccepted' },
);
export type DetailedEvaluationAccepted = Static<typeof DetailedEvaluationAccepted>;
