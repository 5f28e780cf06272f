/** What the client knows of an endpoint: where it is, and how its answer is told from that of something else at the same address. */
export interface Endpoint {
  path: `/api/public/${string}` | `/api/v1/${string}`;
  /** The member that says what was done. A decision without it must not be taken for one. */
  says: 'ok' | 'allowed';
}

/** The five endpoints of the specification, and the extensions. */
export const ENDPOINTS = {
  traces: { path: '/api/public/traces', says: 'ok' },
  telemetry: { path: '/api/public/telemetry', says: 'ok' },
  evaluations: { path: '/api/public/evaluations', says: 'ok' },
  audit: { path: '/api/public/audit', says: 'ok' },
  detailedEvaluations: { path: '/api/v1/evaluations', says: 'ok' },
  promotionCheck: { path: '/api/public/governance/promotion-check', says: 'allowed' },
} as const satisfies Record<string, Endpoint>;

/** Whether an answer of 200 is one of this endpoint: `ok` must be true, `allowed` true or false. */
export function isAnswerOf({ says }: Endpoint, value: object): boolean {
  const said = (value as Record<string, unknown>)[says];
  return says === 'ok' ? said === true : typeof said === 'boolean';
}
