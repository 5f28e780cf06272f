/** An endpoint: its path, and how to recognize its response. */
export interface Endpoint {
  path: `/api/public/${string}` | `/api/v1/${string}`;
  /** The member that every response with status 200 has. A decision without it must not be accepted. */
  resultMember: 'ok' | 'allowed';
}

/** The five public endpoints, and the extension `detailedEvaluations`. */
export const ENDPOINTS = {
  traces: { path: '/api/public/traces', resultMember: 'ok' },
  telemetry: { path: '/api/public/telemetry', resultMember: 'ok' },
  evaluations: { path: '/api/public/evaluations', resultMember: 'ok' },
  audit: { path: '/api/public/audit', resultMember: 'ok' },
  detailedEvaluations: { path: '/api/v1/evaluations', resultMember: 'ok' },
  promotionCheck: { path: '/api/public/governance/promotion-check', resultMember: 'allowed' },
} as const satisfies Record<string, Endpoint>;

/** Whether a response with status 200 is from this endpoint: `ok` must be true, `allowed` true or false. */
export function isResponseOf({ resultMember }: Endpoint, value: object): boolean {
  const result = (value as Record<string, unknown>)[resultMember];
  return resultMember === 'ok' ? result === true : typeof result === 'boolean';
}
