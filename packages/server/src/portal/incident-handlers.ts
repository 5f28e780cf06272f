import { type IncidentDetail, SEVERITIES, type Violation } from '@countersign/core/portal/incident-routes';
import { inReadTransaction, type Transaction } from '../database/transaction.ts';
import { evidenceStates } from '../ledger/evidence-states.ts';
import { findLatestSummary, findStoredEvaluation } from '../storage/portal/evaluations.ts';
import { findIncident, listIncidentsPage, listOpenOfAgent, listOpenRecertifications } from '../storage/portal/incidents.ts';
import { isLeftOut, listEntries, type PortalEntry } from '../storage/portal/ledger.ts';
import { closeRecertifications, closingObstacle } from '../workspace/close-recertifications.ts';
import { openIncident } from '../workspace/open-incident.ts';
import { recordViolation } from '../workspace/record-violation.ts';
import { findIncidentFault } from './altered-acts.ts';
import { handlers } from './handler.ts';
import { pageOf, readCursor } from './page.ts';
import { idOf, requireFound } from './query.ts';
import { digestOfShownEvaluation } from './shown-evaluation.ts';

/** Incidents, required re-certifications, and policy violations. */
export const incidentHandlers = handlers({
  'incidents.list': async ({ workspace, query, parts }) => {
    const after = readCursor(query.cursor, ['wholeNumber', 'uuid']);
    const position = after === null ? null : { seq: Number(after[0]), id: after[1] };
    const filter = { agentId: idOf(query.agent_id), severity: query.severity ?? null };
    const list = query.recertification === 'open' ? listOpenRecertifications : listIncidentsPage;
    return inReadTransaction(parts.readPool, workspace, async (tx) => {
      const { items, next } = await pageOf(
        query,
        (limit) => list(tx, filter, position, limit),
        ({ place_seq: seq, id }) => [seq, id],
      );
      return { items: items.map(({ place_seq: _, ...item }) => item), next };
    });
  },

  'incidents.read': async ({ workspace, params, parts }) =>
    inReadTransaction(parts.readPool, workspace, async (tx) => {
      const { place_seq: _, ...incident } = requireFound(await findIncident(tx, params.incident));
      const altered = await findIncidentFault(tx, incident.id);
      return {
        ...incident,
        altered,
        closing: incident.recertification === 'open' ? await readClosing(tx, incident.agent) : null,
      };
    }),

  'incidents.open': async ({ workspace, body, actor, parts }) => {
    const { agent_id, severity, description, recertify } = body;
    const reported = { agent: { id: agent_id.toLowerCase() }, severity, description, recertify };
    return { id: await openIncident(parts.pool, workspace, reported, actor) };
  },

  'recertifications.close': async ({ workspace, params, body, actor, parts }) => {
    const closing = { agent: { id: params.agent }, ...body };
    const { incidentIds, evaluationId } = await closeRecertifications(parts.pool, workspace, closing, actor);
    return { incident_ids: incidentIds, evaluation_id: evaluationId };
  },

  'violations.list': async ({ workspace, query, parts }) => {
    const after = readCursor(query.cursor, ['wholeNumber']);
    const end = after === null ? Number.MAX_SAFE_INTEGER : Number(after[0]);
    const agentId = idOf(query.agent_id);
    const filter = { action: 'policy.violation', actor: null, agentId, traceId: null, first: 1, end };
    return inReadTransaction(parts.readPool, workspace, async (tx) => {
      const { items, next } = await pageOf(
        query,
        (limit) => listEntries(tx, filter, limit),
        ({ seq }) => [seq],
        isLeftOut,
      );
      return { items: items.map(violationOf), next };
    });
  },

  'violations.record': async ({ workspace, body, actor, parts }) => {
    const { agent_id, policy, severity, description, trace_id } = body;
    const reported = { agent: { id: agent_id.toLowerCase() }, policy, severity, description, traceId: trace_id ?? null };
    return { id: await recordViolation(parts.pool, workspace, reported, actor) };
  },
});

async function readClosing(tx: Transaction, agent: { id: string; name: string }): Promise<IncidentDetail['closing']> {
  const [fault, latest, incident_ids] = await Promise.all([
    evidenceStates.read(tx, (state, readAt) => {
      const knownAgent = state.agent(agent.id);
      return knownAgent === undefined ? 'this agent is not in the evidence log' : closingObstacle(knownAgent, readAt);
    }),
    readLatestEvaluation(tx, agent),
    listOpenOfAgent(tx, agent.id),
  ]);
  const obstacle = fault ?? null;
  return { possible: obstacle === null, obstacle, ...latest, incident_ids };
}

/** The agent's latest evaluation, and the digest of what the page shows about it. */
async function readLatestEvaluation(tx: Transaction, agent: { id: string; name: string }) {
  const evaluation = await findLatestSummary(tx, agent.id);
  if (evaluation === undefined) return { evaluation: null, seen: null };
  return { evaluation, seen: digestOfShownEvaluation(requireFound(await findStoredEvaluation(tx, evaluation.id)), agent) };
}

/** The violation in an entry. Other systems can write entries with this action too, with any metadata. */
function violationOf({ seq, id, agent, trace_id, recorded_at, recorded_by, document }: PortalEntry): Violation {
  const { rationale, metadata } = JSON.parse(document) as { rationale: string | null; metadata: Record<string, unknown> | null };
  const textOf = (name: string): string | null => (typeof metadata?.[name] === 'string' ? metadata[name] : null);
  return {
    ...{ seq, agent, trace_id, recorded_at, recorded_by },
    id: textOf('violation_id') ?? id,
    policy: textOf('policy'),
    severity: SEVERITIES.find((severity) => severity === textOf('severity')) ?? null,
    description: rationale,
  };
}
