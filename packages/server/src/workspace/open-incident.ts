import type { Severity } from '@countersign/core/portal/incident-routes';
import type { Pool } from 'pg';
import { insertIncident } from '../storage/incidents.ts';
import { newId } from '../storage/new-id.ts';
import { openRecertification } from '../storage/recertifications.ts';
import type { Actor } from './actor.ts';
import { evidenceAct } from './evidence-act.ts';
import { type AgentReference, requireValidReference } from './governance-act.ts';
import { requireText } from './wrong-input.ts';

/** An incident as reported. */
export interface ReportedIncident {
  agent: AgentReference;
  severity: Severity;
  description: string;
  /** Whether the agent must be re-certified before its next promotion. */
  recertify: boolean;
}

/** Opens an incident against an agent and returns its ID. */
export async function openIncident(
  pool: Pool,
  tenantId: string,
  { agent: reference, severity, description, recertify }: ReportedIncident,
  by: Actor,
): Promise<string> {
  requireValidReference(reference);
  requireText('the description', description);
  return evidenceAct(pool, tenantId, by, async ({ tx, now, by: openedBy, requireAgent, append, record }) => {
    const agent = requireAgent(reference);
    const id = newId();
    await insertIncident(tx, { id, agentId: agent.id, severity, description, openedBy, openedAt: now });
    if (recertify) await openRecertification(tx, id);
    append({ action: 'incident.opened', agent_id: agent.id, incident_id: id, recertification_required: recertify });
    record({
      action: 'incident.created',
      subject: agent.name,
      rationale: description,
      agent_id: agent.id,
      metadata: { incident_id: id, severity, recertification_required: recertify },
    });
    return id;
  });
}
