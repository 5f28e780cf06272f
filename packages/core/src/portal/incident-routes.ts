import { type Static, Type } from 'typebox';
import { count, dateTime, flag, label, nullable, oneOf, sha256Hex, text, unboundedText, uuid } from '../contract/scalars.ts';
import { AgentName, agentOrNone, EvaluationSummary } from './agent-facts.ts';
import { Rationale } from './approval-routes.ts';
import { ledgerText } from './ledger-text.ts';
import { CreatedRecord, filter, page, pageQuery, WORKSPACE } from './listing.ts';
import type { PortalRoute } from './route.ts';

/** The severity of an incident or a violation, mildest first. */
export const SEVERITIES = ['low', 'medium', 'high', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** The re-certification that an incident requires: none, or its state. */
export const RECERTIFICATIONS = ['none', 'open', 'closed'] as const;

/** An incident. */
export const Incident = Type.Object({
  id: uuid({ description: 'ID of the incident.' }),
  agent: AgentName,
  severity: oneOf(SEVERITIES, { description: 'Its severity.' }),
  description: text({ description: 'What happened.' }),
  opened_at: dateTime({ description: 'When it was opened.' }),
  opened_by: label({ description: 'Who opened it: user:<uuid> or operator.' }),
  recertification: oneOf(RECERTIFICATIONS, {
    description: 'The state of the required re-certification; none if the incident requires none.',
  }),
  closed_at: nullable(dateTime({ description: 'When the re-certification was closed; null if it is open or not required.' })),
  closed_by: nullable(label({ description: 'Who closed the re-certification: user:<uuid> or operator.' })),
  closing_rationale: nullable(text({ description: 'Why the re-certification was closed.' })),
  closing_evaluation_id: nullable(uuid({ description: 'The passing evaluation on which the re-certification was closed.' })),
});
export type Incident = Static<typeof Incident>;

/** An incident in a list. */
export const ListedIncident = Type.Object({
  ...Incident.properties,
  description: text({ description: 'What happened; its first 500 characters.' }),
  closing_rationale: nullable(text({ description: 'Why the re-certification was closed; its first 500 characters.' })),
});
export type ListedIncident = Static<typeof ListedIncident>;

/** One incident, and whether its re-certification can be closed now. */
export const IncidentDetail = Type.Object({
  ...Incident.properties,
  altered: nullable(unboundedText({ description: 'How the stored incident differs from the audit ledger; null if it matches.' })),
  closing: Type.Union(
    [
      Type.Object({
        possible: flag({ description: 'Whether the re-certification can be closed now.' }),
        obstacle: nullable(text({ description: 'Why it cannot be closed, and what to do; null if it can be closed.' })),
        evaluation: Type.Union([EvaluationSummary, Type.Null()], {
          description: "The agent's latest evaluation; null without one.",
        }),
        seen: nullable(
          sha256Hex({
            description:
              'SHA-256 of what this response says about the evaluation and its agent; null without an evaluation. Send it when you ' +
              'close the re-certification.',
          }),
        ),
        incident_ids: Type.Array(uuid({ description: 'An incident.' }), {
          description: 'The incidents whose re-certifications are closed together: all open ones of the agent.',
        }),
      }),
      Type.Null(),
    ],
    { description: 'Whether the re-certification can be closed; null if it is not open.' },
  ),
});
export type IncidentDetail = Static<typeof IncidentDetail>;

/** The reason for closing re-certifications, and the evaluation that the person saw. */
export const RecertificationClosing = Type.Object(
  {
    ...Rationale.properties,
    seen: sha256Hex({
      description:
        'The member `closing.seen` of `incidents.read`. If the evidence log has another latest evaluation, or says something else about ' +
        'it or its agent, the request is rejected and nothing is recorded.',
    }),
  },
  { additionalProperties: false },
);

/** An incident as a person reports it. */
export const NewIncident = Type.Object(
  {
    agent_id: uuid({ description: 'The agent.' }),
    severity: oneOf(SEVERITIES, { description: 'Its severity.' }),
    description: ledgerText({ description: 'What happened; recorded in the ledger.' }),
    recertify: flag({ description: 'Whether the agent must be re-certified before it is promoted again.' }),
  },
  { additionalProperties: false },
);

/** A policy violation in a list. It is stored only as an entry of the ledger. */
export const Violation = Type.Object({
  seq: count({ minimum: 1, description: 'Number of its ledger entry.' }),
  id: uuid({ description: 'ID of the violation, or of its ledger entry if the entry contains no ID of a violation.' }),
  agent: agentOrNone('The agent; null if another system wrote the entry without an agent.'),
  policy: nullable(text({ description: 'The policy that was violated.' })),
  severity: nullable(oneOf(SEVERITIES, { description: 'Its severity.' })),
  description: nullable(text({ description: 'What happened.' })),
  trace_id: nullable(label({ description: 'The run in which it happened.' })),
  recorded_at: dateTime({ description: 'When it was recorded.' }),
  recorded_by: label({ description: 'Who recorded it.' }),
});
export type Violation = Static<typeof Violation>;

/** A policy violation as a person records it. */
export const NewViolation = Type.Object(
  {
    agent_id: uuid({ description: 'The agent.' }),
    policy: label({ description: 'The policy that was violated.', examples: ['no-refunds-without-receipt'] }),
    severity: oneOf(SEVERITIES, { description: 'Its severity.' }),
    description: ledgerText({ description: 'What happened; recorded in the ledger.' }),
    trace_id: Type.Optional(nullable(label({ description: 'The run in which it happened.' }))),
  },
  { additionalProperties: false },
);

export const incidentRoutes = {
  'incidents.list': {
    method: 'GET',
    path: `${WORKSPACE}/incidents`,
    access: 'viewer',
    compressed: true,
    summary: 'The incidents, latest first.',
    query: pageQuery({
      agent_id: filter.agent(),
      severity: filter.oneOf(SEVERITIES, 'Only this severity.'),
      recertification: filter.oneOf(['open'], 'Only incidents with an open re-certification.'),
    }),
    response: page(ListedIncident),
  },
  'incidents.read': {
    method: 'GET',
    path: `${WORKSPACE}/incidents/:incident`,
    access: 'viewer',
    compressed: true,
    summary: 'One incident, and whether its re-certification can be closed now.',
    response: IncidentDetail,
  },
  'incidents.open': {
    method: 'POST',
    path: `${WORKSPACE}/incidents`,
    access: 'admin',
    compressed: true,
    usesReserve: true,
    summary: 'Opens an incident against an agent; recorded in the ledger as incident.created.',
    body: NewIncident,
    response: CreatedRecord,
  },
  'recertifications.close': {
    method: 'POST',
    path: `${WORKSPACE}/agents/:agent/recertifications/close`,
    access: 'approver',
    compressed: true,
    summary:
      'Closes all open re-certifications of an agent on its latest evaluation. It must be passing with a pass rate, and must have been ' +
      'run and recorded after the incidents. Recorded in the ledger as recertification.closed.',
    body: RecertificationClosing,
    response: Type.Object({
      incident_ids: Type.Array(uuid({ description: 'An incident.' }), {
        description: 'The incidents whose re-certifications were closed.',
      }),
      evaluation_id: uuid({ description: 'The evaluation on which they were closed.' }),
    }),
  },
  'violations.list': {
    method: 'GET',
    path: `${WORKSPACE}/policy-violations`,
    access: 'viewer',
    compressed: true,
    summary: 'The policy violations in the ledger, latest first.',
    query: pageQuery({ agent_id: filter.agent() }),
    response: page(Violation),
  },
  'violations.record': {
    method: 'POST',
    path: `${WORKSPACE}/policy-violations`,
    access: 'admin',
    compressed: true,
    summary: 'Records a policy violation of an agent; recorded in the ledger as policy.violation.',
    body: NewViolation,
    response: CreatedRecord,
  },
} as const satisfies Record<string, PortalRoute>;
