import { CLOCK_DIFFERENCE_MAX_MS } from '@countersign/core/domain/clock-guard';
import type { KnownAgent } from '@countersign/core/domain/evidence-state';
import type { Pool } from 'pg';
import { closeOpenRecertifications } from '../storage/recertifications.ts';
import type { Actor } from './actor.ts';
import { requireSeenLatest } from './evaluation-to-decide.ts';
import { evidenceAct } from './evidence-act.ts';
import { type AgentReference, requireValidReference } from './governance-act.ts';
import { RuleViolationError } from './rule-violation.ts';
import { requireText } from './wrong-input.ts';

/** The closed re-certifications, and the evaluation that allowed closing them. */
export interface ClosedRecertifications {
  incidentIds: string[];
  evaluationId: string;
}

/**
 * Closes all open re-certifications of an agent. The agent's latest evaluation must be passing, have a pass rate, and be recorded after
 * each of the incidents. If the evaluation says when it was run, that time must be later than the incidents too. The time at which the
 * evaluation was recorded must not be in the future.
 * @param closing `seen` is the digest of what the person saw about this evaluation (`digestOfSeenFacts`). The command line shows no facts,
 * so it omits the digest.
 * @throws NotFoundError for an unknown agent.
 * @throws RuleViolationError if nothing is open, if the evaluation does not meet these conditions, or if the person saw another evaluation
 *   or other facts about it.
 */
export async function closeRecertifications(
  pool: Pool,
  tenantId: string,
  { agent: reference, rationale, seen }: { agent: AgentReference; rationale: string; seen?: string },
  by: Actor,
): Promise<ClosedRecertifications> {
  requireValidReference(reference);
  requireText('the rationale', rationale);
  return evidenceAct(pool, tenantId, by, async ({ tx, now, by: closedBy, requireAgent, append, record }) => {
    const agent = requireAgent(reference);
    const incidentIds = agent.openRecertifications.map(({ incidentId }) => incidentId);
    if (incidentIds.length === 0)
      throw new RuleViolationError(`agent ${JSON.stringify(agent.name)} has no open re-certification; nothing to close`);
    const obstacle = closingObstacle(agent, now);
    if (agent.latest === null || obstacle !== undefined) throw new RuleViolationError(obstacle);
    if (seen !== undefined) requireSeenLatest(seen, agent, agent.latest);
    const evaluationId = agent.latest.id;
    await closeOpenRecertifications(tx, { agentId: agent.id, evaluationId, closedAt: now, closedBy, rationale });
    append({
      action: 'recertifications.closed',
      agent_id: agent.id,
      evaluation_id: evaluationId,
      incident_ids: incidentIds,
    });
    record({
      action: 'recertification.closed',
      subject: agent.name,
      rationale,
      agent_id: agent.id,
      metadata: { incident_ids: incidentIds, evaluation_id: evaluationId },
    });
    return { incidentIds, evaluationId };
  });
}

/**
 * Why an agent's open re-certifications cannot be closed now, with the remedy; undefined if they can be closed.
 * @param now the current time by the database's clock, ISO 8601.
 */
export function closingObstacle({ name, latest, openRecertifications }: KnownAgent, now: string): string | undefined {
  const remedy = 'record a passing evaluation with a pass rate now, then close the re-certification';
  if (latest === null) return `agent ${JSON.stringify(name)} has no evaluation at all; ${remedy}`;
  const { id, seq, recordedAt, evaluatedAt, status, passRate } = latest;
  const evaluation = `the latest evaluation of ${JSON.stringify(name)} (${id}, ${cutToMilliseconds(recordedAt)})`;
  if (status !== 'passing') return `${evaluation} is ${status}, not passing; ${remedy}`;
  // Promotion checks also reject an evaluation without a pass rate.
  if (passRate === null) return `${evaluation} has no pass rate; ${remedy}`;
  const isBefore = ({ seq: openedSeq, openedAt }: KnownAgent['openRecertifications'][number]) =>
    seq < openedSeq || (evaluatedAt !== null && evaluatedAt <= openedAt);
  if (openRecertifications.some(isBefore)) {
    const event = evaluatedAt === null ? ' was recorded' : `, run at ${cutToMilliseconds(evaluatedAt)}, was run or recorded`;
    const incident = openRecertifications.length === 1 ? 'the incident' : 'one of the incidents';
    return `${evaluation}${event} before ${incident} was opened; ${remedy}`;
  }
  if (Date.parse(recordedAt) > Date.parse(now) + CLOCK_DIFFERENCE_MAX_MS)
    return `${evaluation} has a time in the future: a clock was wrong; check the clock, ${remedy}`;
  return undefined;
}

/** Cuts a time with six fraction digits to milliseconds. */
const cutToMilliseconds = (exact: string): string => exact.replace(/\d{3}Z$/, 'Z');
