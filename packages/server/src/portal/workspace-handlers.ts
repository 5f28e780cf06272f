import { REASONS } from '@countersign/core/contract/promotion-check';
import { SHORT_RETENTION_DAYS } from '@countersign/core/contract/retention-days';
import type { RetentionFacts, UsageDay } from '@countersign/core/portal/workspace-routes';
import type { Transaction } from '../database/transaction.ts';
import { inReadTransaction } from '../database/transaction.ts';
import { countAgents, findAgentsWithActivity, listAgentNames } from '../storage/portal/agents.ts';
import { countPendingApprovals, listApprovalQueue } from '../storage/portal/approvals.ts';
import { listDecisions } from '../storage/portal/decisions.ts';
import { countOpenRecertifications, listLongestOpen } from '../storage/portal/incidents.ts';
import { findPresence } from '../storage/portal/presence.ts';
import { sumRunsByDay } from '../storage/portal/run-totals.ts';
import { findOwnTenant } from '../storage/tenants.ts';
import { renameWorkspace } from '../workspace/rename-workspace.ts';
import { readRetention, setRetention } from '../workspace/set-retention.ts';
import { differingRows } from './differing-rows.ts';
import { handlers } from './handler.ts';
import type { PortalParts } from './portal-parts.ts';
import { requireFound } from './query.ts';
import { readEvidence, standingOf, summaryOf } from './standing.ts';

const AGENTS_COUNTED_MAX = 1000;
const AGENTS_SHOWN_MAX = 100;
/** At least this many places of the list are left to promotable agents. Blocked agents come first and could fill it. */
const PROMOTABLE_SHOWN_MIN = 20;
const PENDING_SHOWN_MAX = 5;
const DECISIONS_SHOWN_MAX = 10;
const DAYS_DEFAULT = 14;
const DAY_MS = 86_400_000;

/** Handlers of the overview page, and of the name and the retention of the workspace. */
export const workspaceHandlers = handlers({
  'overview.read': async ({ workspace, parts }) =>
    inReadTransaction(parts.readPool, workspace, async (tx) => {
      const everyDecision = { agentId: null, evaluationId: null, reasons: REASONS, first: 1, end: Number.MAX_SAFE_INTEGER };
      const [agents, agents_total, approvals_pending, approvals, recertifications_open, recertifications, decisions, has] =
        await Promise.all([
          summarizeAgents(tx),
          countAgents(tx),
          countPendingApprovals(tx),
          listApprovalQueue(tx, null, null, PENDING_SHOWN_MAX),
          countOpenRecertifications(tx),
          listLongestOpen(tx, PENDING_SHOWN_MAX),
          listDecisions(tx, everyDecision, DECISIONS_SHOWN_MAX),
          findPresence(tx),
        ]);
      return {
        ...agents,
        ...{ agents_total, approvals_pending, recertifications_open, decisions, has },
        differing_rows: differingRows(parts, workspace),
        approvals: approvals.map(({ place_seq: _, ...approval }) => approval),
        recertifications: recertifications.map(({ place_seq: _, ...incident }) => incident),
      };
    }),

  'overview.usage': async ({ workspace, query, parts }) => {
    const days = query.days === undefined ? DAYS_DEFAULT : Number(query.days);
    const todayMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const starts = Array.from({ length: days }, (_, index) => new Date(todayMs - (days - 1 - index) * DAY_MS).toISOString());
    const sums = await inReadTransaction(parts.readPool, workspace, (tx) => sumRunsByDay(tx, starts[0]!));
    const byDay = new Map(sums.map((sum) => [sum.day, sum]));
    return { days: starts.map((at) => byDay.get(at.slice(0, 10)) ?? noRuns(at.slice(0, 10))) };
  },

  'workspace.read': async ({ workspace, parts }) => readWorkspace(parts, workspace),

  'workspace.rename': async ({ workspace, body, actor, parts }) => {
    await renameWorkspace(parts.pool, workspace, body.name, actor);
    return readWorkspace(parts, workspace);
  },

  'retention.read': async ({ workspace, parts }) => readRetentionFacts(parts, workspace),

  'retention.set': async ({ workspace, body, actor, parts }) => {
    const change = {
      traceDays: body.trace_days,
      telemetryDays: body.telemetry_days,
      isShortConfirmed: body.confirm_short === true,
    };
    await setRetention(parts.pool, workspace, change, actor);
    return readRetentionFacts(parts, workspace);
  },
});

async function readRetentionFacts({ readPool }: PortalParts, workspace: string): Promise<RetentionFacts> {
  const { current, periods } = await readRetention(readPool, workspace);
  return {
    trace_days: current.traceDays,
    telemetry_days: current.telemetryDays,
    confirm_below: SHORT_RETENTION_DAYS,
    periods: periods.map(({ since, traceDays, telemetryDays }) => ({
      since,
      trace_days: traceDays,
      telemetry_days: telemetryDays,
    })),
  };
}

async function readWorkspace({ readPool }: PortalParts, workspace: string) {
  const { id, name, createdAt } = requireFound(await inReadTransaction(readPool, workspace, findOwnTenant));
  return { id, name, created_at: createdAt };
}

const noRuns = (day: string): UsageDay => ({
  day,
  runs: 0,
  failures: 0,
  unfinished: 0,
  errors: 0,
  total_tokens: 0,
  cost_usd: '0',
});

/**
 * Counts the promotable and the blocked agents among the first AGENTS_COUNTED_MAX by name. Lists the first agents of each kind, blocked
 * agents first.
 */
async function summarizeAgents(tx: Transaction) {
  const ids = (await listAgentNames(tx, AGENTS_COUNTED_MAX)).map(({ id }) => id);
  const standings = (await readEvidence(tx, ids)).map((evidence, index) => {
    return { id: ids[index]!, evidence, promotable: standingOf(evidence).promotable };
  });
  const blocked = standings.filter(({ promotable }) => !promotable);
  const promotable = standings.filter((each) => each.promotable);
  const blockedMax = AGENTS_SHOWN_MAX - Math.min(promotable.length, PROMOTABLE_SHOWN_MIN);
  const listedAgents = [...blocked.slice(0, blockedMax), ...promotable].slice(0, AGENTS_SHOWN_MAX);
  const agentsById = new Map(
    (
      await findAgentsWithActivity(
        tx,
        listedAgents.map(({ id }) => id),
      )
    ).map((agent) => [agent.id, agent]),
  );
  return {
    agents: listedAgents.flatMap(({ id, evidence }) => (agentsById.has(id) ? [summaryOf(agentsById.get(id)!, evidence)] : [])),
    promotable: promotable.length,
    blocked: blocked.length,
  };
}
