import { type Static, Type } from 'typebox';
import { amount, flag, label, oneOf, optional, percentage, registeringName, text, uuid } from './scalars.ts';

/** The states of an evaluation. */
export const EVALUATION_STATUSES = ['scheduled', 'running', 'passing', 'failing'] as const;
export type EvaluationStatus = (typeof EVALUATION_STATUSES)[number];

/** Body of POST /api/public/evaluations: the outcome of one evaluation run. Each request creates a record. */
export const Evaluation = Type.Object(
  {
    name: label({ description: 'Name of the evaluation.', examples: ['nightly-regression'] }),
    agent_id: optional(uuid({ description: 'The registered agent that was evaluated.' })),
    agent_name: optional(registeringName()),
    harness_id: optional(uuid({ description: 'The harness that ran the evaluation; recorded in lower case.' })),
    category: optional(label({ description: 'Free-text category.', examples: ['safety'] })),
    status: optional(
      oneOf(EVALUATION_STATUSES, {
        description: 'The result of the evaluation. The latest evaluation counts, whatever its status.',
        default: 'passing',
      }),
    ),
    pass_rate: optional(percentage({ description: 'Share of passed cases, in percent.', examples: [92.5] })),
    notes: optional(text({ description: 'Notes for people.' })),
    severity_threshold: optional(amount({ description: 'The lowest severity at which a finding counted.' })),
  },
  { $id: 'Evaluation', additionalProperties: false, description: 'The outcome of one evaluation run.' },
);
export type Evaluation = Static<typeof Evaluation>;

/** Response of POST /api/public/evaluations. */
export const EvaluationAccepted = Type.Object(
  {
    ok: flag({ description: 'Always true: the record is committed.' }),
    id: uuid({ description: 'ID of the evaluation.' }),
  },
  { $id: 'EvaluationAccepted' },
);
export type EvaluationAccepted = Static<typeof EvaluationAccepted>;
