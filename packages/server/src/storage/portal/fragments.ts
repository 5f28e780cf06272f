import { FENCE } from '../../database/planner.ts';
import { instantText } from '../instant-text.ts';

/** SQL for the object `{id, name}` of a joined agent; null if no agent was joined. @param agent the alias of the agent. */
export const agentJson = (agent: string): string =>
  `CASE WHEN ${agent}.id IS NULL THEN NULL ELSE json_build_object('id', ${agent}.id, 'name', ${agent}.name) END`;

/** The members of an EvaluationSummary (core/portal/agent-facts.ts), each with its SQL. The parameters are aliases of joined rows. */
const evaluationMembers = (e: string, approval: string): [string, string][] => [
  ['id', `${e}.id`],
  ['name', `${e}.name`],
  ['status', `${e}.status`],
  ['pass_rate', `${e}.pass_rate`],
  ['category', `${e}.category`],
  ['harness_id', `${e}.harness_id`],
  ['recorded_at', instantText(`${e}.recorded_at`)],
  ['recorded_by', `${e}.recorded_by`],
  ['approval', `${approval}.status`],
];

/** SQL for an EvaluationSummary as columns of a SELECT. */
export const evaluationColumns = (e: string, approval: string): string =>
  evaluationMembers(e, approval)
    .map(([name, value]) => `${value} AS ${name}`)
    .join(', ');

/** SQL for an EvaluationSummary as one JSON object. */
export const evaluationJson = (e: string, approval: string): string =>
  `json_build_object(${evaluationMembers(e, approval)
    .map(([name, value]) => `'${name}', ${value}`)
    .join(', ')})`;

/** SQL for an exact amount of dollars as text, without trailing zeros. */
export const dollarsText = (amount: string): string => `trim_scale(${amount})::text`;

/**
 * SQL for a time in UTC with microseconds, for cursors. Displayed times have only milliseconds, so several rows can have the same displayed
 * time.
 */
export const instantKey = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/**
 * SQL that joins the row of `table` whose column `column` is `id`, if any, with the alias `as`. It is one lookup for each row of the page.
 * Without the fence, the planner would read and hash the whole table.
 */
export const lookUp = (table: string, as: string, column: string, id: string): string =>
  `LEFT JOIN LATERAL (SELECT * FROM countersign.${table} AS x WHERE x.tenant_id = $1 AND x.${column} = ${id} ${FENCE}) AS ${as} ON true`;

/** SQL for the first 500 characters of a text, for lists. PostgreSQL does not read the rest of a long text. */
export const beginningOf = (column: string): string => `left(${column}, 500)`;
