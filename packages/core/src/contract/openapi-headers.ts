/** Any JSON object of the document. */
type Node = Record<string, unknown>;

const header = (description: string, schema: Node = { type: 'string' }): Node => ({ description, schema });
const INTEGER: Node = { type: 'integer', format: 'int64' };

/** The response headers, by name. */
const HEADERS = {
  'X-Request-Id': header("Identifies the request in the server's log."),
  RateLimit: header(
    'The remaining requests, and the seconds until the limit resets (draft-ietf-httpapi-ratelimit-headers); only if a limit is configured.',
  ),
  'RateLimit-Policy': header('The limit of requests per minute and key; only if one is configured.'),
  'Retry-After': header('Seconds to wait before trying again.', INTEGER),
  'WWW-Authenticate': header('`Bearer`. If the key lacks a scope, also `error="insufficient_scope"` and the scope.'),
  Allow: header('The methods that the path accepts.'),
  'Countersign-Ledger-Seq': header("The entry's number in its workspace's ledger.", INTEGER),
  'Idempotent-Replayed': header('true if this response repeats the first one, and nothing was stored again.'),
  'Countersign-Warning': header(
    'Present if the name of a new agent looks like a known name: `similar-agent-name;agent_name=<new>;similar_to=<known>`. ' +
      'Several warnings are joined by commas. Names are UTF-8 in percent-encoding, and a shortened name ends in `...`. At most ' +
      '2,048 bytes; `more=<number>` counts the warnings that were left out.',
  ),
  'Countersign-Checkpoint': header(
    'Heads of the audit ledger and the decision log after the decision was stored. Keep them as evidence.',
  ),
  'Countersign-Workspace': header(
    'ID of the workspace that the decision belongs to. The pages of the workspace are under /w/<ID>.',
  ),
  'Countersign-Attestation': header('Ed25519 signatures of the attestation, if requested by Prefer (docs/formats.md).'),
  'Preference-Applied': header('`countersign-attestation`, if requested by Prefer (RFC 7240).'),
} as const;
export type HeaderName = keyof typeof HEADERS;

/** Returns the descriptions of the named headers, as the `headers` of a response. */
export const describeHeaders = (names: readonly HeaderName[]): Node =>
  Object.fromEntries(names.map((name) => [name, HEADERS[name]]));

/** Statuses of errors that can occur before a request counts against the rate limit of its key. */
const UNCOUNTED_STATUSES: ReadonlySet<number> = new Set([400, 401, 405, 408, 421, 431]);

/** Returns the names of the headers of an error response. @param isCounted whether requests to this path count against a rate limit. */
export function errorHeaders(status: number, isCounted: boolean): HeaderName[] {
  return [
    'X-Request-Id',
    ...(isCounted && !UNCOUNTED_STATUSES.has(status) ? (['RateLimit', 'RateLimit-Policy'] as const) : []),
    ...(status === 401 ? (['WWW-Authenticate'] as const) : []),
    ...(status === 405 ? (['Allow'] as const) : []),
    ...(status === 429 || status === 503 ? (['Retry-After'] as const) : []),
  ];
}
