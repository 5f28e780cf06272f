import { type Static, Type } from 'typebox';
import { DECISION_EVENTS, PromotionDecision, REASONS } from '../contract/promotion-check.ts';
import { count, dateTime, flag, label, nullable, oneOf, unboundedText, uuid } from '../contract/scalars.ts';
import { agentOrNone } from './agent-facts.ts';
import { filter, page, pageQuery, WORKSPACE } from './listing.ts';
import type { PortalRoute } from './route.ts';

/** A decision in the list. */
export const ListedDecision = Type.Object({
  id: uuid({ description: 'ID of the decision.' }),
  seq: count({ minimum: 1, description: 'Its number in the decision log.' }),
  decided_at: dateTime({ description: 'When it was decided.' }),
  asked_by: label({ description: 'Who sent the request: key:<prefix>.' }),
  agent: agentOrNone('The agent; null if it is unknown.'),
  asked_for: nullable(
    label({
      description:
        'Name or ID of the unknown agent in the request; null for a known agent, or if the stored text is not a valid decision.',
    }),
  ),
  evaluation_id: nullable(uuid({ description: 'The evaluation that the decision is based on; null without one.' })),
  allowed: flag({ description: 'Whether the promotion was allowed.' }),
  reason: oneOf(REASONS, { description: 'Why the first failing condition fails, or all_conditions_met.' }),
  event: oneOf(DECISION_EVENTS, { description: 'The event that the decision records.' }),
});
export type ListedDecision = Static<typeof ListedDecision>;

/** A DSSE envelope around an in-toto Statement v1: the decision's attestation by the instance's Ed25519 keys. */
export const Attestation = Type.Object({
  payloadType: unboundedText({ description: 'Media type of the payload.' }),
  payload: unboundedText({ description: 'The statement, base64.' }),
  signatures: Type.Array(
    Type.Object({
      keyid: unboundedText({ description: 'ID of the key: its `kid` in the key set.' }),
      sig: unboundedText({ description: 'Ed25519 signature, base64.' }),
    }),
    { description: 'One signature by each live key.' },
  ),
});

/** One decision with the data for verifying it in the browser; the public keys are at /.well-known/jwks.json. */
export const DecisionDetail = Type.Object({
  ...ListedDecision.properties,
  decision: Type.Unsafe<PromotionDecision>({ ...PromotionDecision, description: 'The signed decision.' }),
  document: unboundedText({
    description: 'The JSON text of the signed decision, as it was returned.',
  }),
  attestation: Type.Union([Attestation, Type.Null()], {
    description: 'Its attestation; null if the decision is not valid (see `altered`).',
  }),
  evidence: unboundedText({ description: 'The evidence document that the decision was computed from, as hashed.' }),
  altered: nullable(unboundedText({ description: 'Why the stored decision is not valid; null if it is valid.' })),
});
export type DecisionDetail = Static<typeof DecisionDetail>;

export const decisionRoutes = {
  'decisions.list': {
    method: 'GET',
    path: `${WORKSPACE}/decisions`,
    access: 'viewer',
    compressed: true,
    summary: 'The promotion decisions, latest first.',
    query: pageQuery({
      agent_id: filter.agent(),
      allowed: filter.oneOf(['true', 'false'], 'Only allowed or only blocked decisions.'),
      reason: filter.oneOf(REASONS, 'Only this reason.'),
      evaluation_id: filter.uuid('Only decisions based on this evaluation.'),
      from: filter.from(),
      to: filter.to(),
    }),
    response: page(ListedDecision),
  },
  'decisions.read': {
    method: 'GET',
    path: `${WORKSPACE}/decisions/:decision`,
    access: 'viewer',
    compressed: true,
    summary: 'One decision, with the data for verifying it.',
    response: DecisionDetail,
  },
  'decisions.document': {
    method: 'GET',
    path: `${WORKSPACE}/decisions/:decision/document`,
    access: 'viewer',
    compressed: false,
    summary: 'A file: the signed JSON exactly as it was returned.',
  },
  'decisions.evidence': {
    method: 'GET',
    path: `${WORKSPACE}/decisions/:decision/evidence`,
    access: 'viewer',
    compressed: false,
    summary: 'A file: the evidence document, exactly as it was hashed.',
  },
  'decisions.attestation': {
    method: 'GET',
    path: `${WORKSPACE}/decisions/:decision/attestation`,
    access: 'viewer',
    compressed: false,
    summary: 'A file: the attestation as a DSSE envelope, for third parties.',
  },
} as const satisfies Record<string, PortalRoute>;
