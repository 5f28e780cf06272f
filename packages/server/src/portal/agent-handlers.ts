import { MIN_PASS_RATE_DEFAULT } from '@countersign/core/contract/promotion-check';
import { POLICY, roundedHours } from '@countersign/core/domain/promotion';
import { inReadTransaction } from '../database/transaction.ts';
import { findAgentsWithActivity, listAgentsPage, listPassRates, readAgentCounts } from '../storage/portal/agents.ts';
import { setRiskLevel } from '../workspace/agent-risk.ts';
import { archiveAgent } from '../workspace/archive-agent.ts';
import { handlers } from './handler.ts';
import { pageOf, readCursor } from './page.ts';
import { idOf, requireFound, wholeNumberOf } from './query.ts';
import { DEFAULT_CRITERIA, evaluationOf, readEvidence, readSummaries, standingOf } from './standing.ts';

const POINTS_DEFAULT = 200;

const ARCHIVED = { excluded: false, included: null, only: true } as const;

/** Agents, and whether they could be promoted now. */
export const agentHandlers = handlers({
  'agents.list': async ({ workspace, query, parts }) => {
    const after = readCursor(query.cursor, ['label']);
    const filter = {
      search: query.search ?? null,
      riskLevel: query.risk_level ?? null,
      archived: ARCHIVED[query.archived ?? 'excluded'],
    };
    return inReadTransaction(parts.readPool, workspace, async (tx) => {
      const { items, next } = await pageOf(
        query,
        (limit) => listAgentsPage(tx, filter, after?.[0] ?? null, limit),
        ({ name }) => [name],
      );
      return { items: await readSummaries(tx, items), next };
    });
  },

  'agents.read': async ({ workspace, params, parts }) =>
    inReadTransaction(parts.readPool, workspace, async (tx) => {
      const [agents, counts] = await Promise.all([findAgentsWithActivity(tx, [params.agent]), readAgentCounts(tx, params.agent)]);
      const [summary] = await readSummaries(tx, [requireFound(agents[0])]);
      return { ...summary!, ...counts };
    }),

  'agents.pass_rates': async ({ workspace, params, query, parts }) => {
    const pointsMax = query.points === undefined ? POINTS_DEFAULT : Number(query.points);
    return inReadTransaction(parts.readPool, workspace, async (tx) => {
      const [agents, points] = await Promise.all([
        findAgentsWithActivity(tx, [params.agent]),
        listPassRates(tx, params.agent, idOf(query.harness_id), pointsMax + 1),
      ]);
      requireFound(agents[0]);
      return { points: points.slice(0, pointsMax).reverse(), threshold: MIN_PASS_RATE_DEFAULT, more: points.length > pointsMax };
    });
  },

  'agents.promotion_preview': async ({ workspace, params, query, parts }) => {
    const criteria = {
      minPassRate: query.min_pass_rate === undefined ? DEFAULT_CRITERIA.minPassRate : Number(query.min_pass_rate),
      maxAgeHours:
        wholeNumberOf('max_age_hours', query.max_age_hours, { minimum: 1, maximum: 8760 }) ?? DEFAULT_CRITERIA.maxAgeHours,
    };
    const [evidence] = await inReadTransaction(parts.readPool, workspace, (tx) =>
      readEvidence(tx, [params.agent], idOf(query.harness_id)),
    );
    const { id } = requireFound(evidence!.agent ?? undefined);
    const age = evidence!.evaluation?.ageHours;
    return {
      ...standingOf(evidence!, criteria),
      agent_id: id,
      policy: POLICY,
      required_threshold: criteria.minPassRate,
      actual_threshold: evidence!.evaluation?.pass_rate ?? null,
      max_age_hours: criteria.maxAgeHours,
      evaluation: evaluationOf(evidence!),
      evaluation_age: age === undefined ? null : roundedHours(age),
    };
  },

  'agents.set_risk': async ({ workspace, params, body, actor, parts }) => {
    const { risk_level: level, rationale, seen_name: seenName } = body;
    const change = { agent: { id: params.agent }, level, rationale: rationale ?? undefined, seenName };
    return { risk_level: level, changed: await setRiskLevel(parts.pool, workspace, change, actor) };
  },

  'agents.set_archived': async ({ workspace, params, body, actor, parts }) => {
    const { archived, rationale, seen_name: seenName } = body;
    const change = { agentId: params.agent, archived, rationale: rationale ?? undefined, seenName };
    return { archived, changed: await archiveAgent(parts.pool, workspace, change, actor) };
  },
});
