/** The logs of a workspace, with their names in summaries. */
const LOGS = {
  audit: 'audit ledger',
  decisions: 'decision log',
  evidence: 'evidence log',
  keys: 'key audit trail',
  traces: 'trace log',
} as const;
type Log = keyof typeof LOGS;

/** A parameter of an endpoint, in the path or in the query string. */
export interface ReadParameter {
  name: string;
  in: 'path' | 'query';
  required: boolean;
  description: string;
  schema: { type: 'integer'; format: 'int64'; minimum: number } | { type: 'string'; format: 'uuid' };
}

/** An endpoint for read tokens (`aa_read_`), or a public one. */
export interface ReadEndpoint {
  summary: string;
  description: string;
  /** Whether a read token is required. */
  requiresToken: boolean;
  /** Whether it can sign a new checkpoint. If the clocks are not reliable, signing fails with `clock_unsafe`. */
  signs?: true;
  parameters: readonly ReadParameter[];
  /** Media type of a successful response. */
  type: 'application/x-ndjson' | 'text/plain' | 'application/json';
}

const seqParameter = (name: 'from' | 'to', description: string): ReadParameter => ({
  name,
  in: 'query',
  required: false,
  description,
  schema: { type: 'integer', format: 'int64', minimum: 1 },
});
const sizeParameter = (name: 'first' | 'second', required: boolean, description: string): ReadParameter => ({
  name,
  in: 'query',
  required,
  description,
  schema: { type: 'integer', format: 'int64', minimum: 0 },
});
const SEQ: ReadParameter = {
  name: 'seq',
  in: 'path',
  required: true,
  description: "The row's number in its log, from 1.",
  schema: { type: 'integer', format: 'int64', minimum: 1 },
};
const DECISION: ReadParameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The decision_id of a promotion check.',
  schema: { type: 'string', format: 'uuid' },
};

const entriesOf = (log: Exclude<Log, 'keys'>): ReadEndpoint => ({
  summary: `Read the ${LOGS[log]}`,
  description: 'The rows in the order of seq, one per line, as `ledger export` writes them (docs/formats.md, "Export").',
  requiresToken: true,
  parameters: [seqParameter('from', 'The first row; default 1.'), seqParameter('to', 'The last row; default the latest.')],
  type: 'application/x-ndjson',
});
const checkpointOf = (log: Log): ReadEndpoint => ({
  summary: `Latest checkpoint of the ${LOGS[log]}`,
  description:
    'A signed note (C2SP tlog-checkpoint), signed now if there are new rows. Keep it: with it you can detect later that an earlier row ' +
    'was rewritten.',
  requiresToken: true,
  signs: true,
  parameters: [],
  type: 'text/plain',
});
const inclusionOf = (log: Log): ReadEndpoint => ({
  summary: `Proof that a row is in the ${LOGS[log]}`,
  description: 'A C2SP tlog-proof: the path of hashes from the row to the root of a checkpoint, and that checkpoint.',
  requiresToken: true,
  signs: true,
  parameters: [SEQ],
  type: 'text/plain',
});
const consistencyOf = (log: Log): ReadEndpoint => ({
  summary: `Proof that the ${LOGS[log]} has only grown`,
  description:
    '`hashes` prove that the tree of `first` rows is a prefix of the tree of `second` rows (RFC 6962, section 2.1.2). `checkpoint` is ' +
    'the checkpoint of `second` rows, or null if none was signed.',
  requiresToken: true,
  signs: true,
  parameters: [
    sizeParameter('first', true, 'The size of the tree that you know.'),
    sizeParameter('second', false, 'The size to compare with; default the latest.'),
  ],
  type: 'application/json',
});

/**
 * GET endpoints for auditors and automation, by path. An ingestion key cannot read, and a read token cannot write. There is no endpoint
 * for the entries of the key audit trail, because only admins may read them.
 */
export const READ_ENDPOINTS = {
  '/api/ledger/audit/entries': entriesOf('audit'),
  '/api/ledger/audit/checkpoint': checkpointOf('audit'),
  '/api/ledger/audit/inclusion/:seq': inclusionOf('audit'),
  '/api/ledger/audit/consistency': consistencyOf('audit'),
  '/api/ledger/decisions/entries': entriesOf('decisions'),
  '/api/ledger/decisions/checkpoint': checkpointOf('decisions'),
  '/api/ledger/decisions/inclusion/:seq': inclusionOf('decisions'),
  '/api/ledger/decisions/consistency': consistencyOf('decisions'),
  '/api/ledger/evidence/entries': entriesOf('evidence'),
  '/api/ledger/evidence/checkpoint': checkpointOf('evidence'),
  '/api/ledger/evidence/inclusion/:seq': inclusionOf('evidence'),
  '/api/ledger/evidence/consistency': consistencyOf('evidence'),
  '/api/ledger/keys/checkpoint': checkpointOf('keys'),
  '/api/ledger/keys/inclusion/:seq': inclusionOf('keys'),
  '/api/ledger/keys/consistency': consistencyOf('keys'),
  '/api/ledger/traces/entries': entriesOf('traces'),
  '/api/ledger/traces/checkpoint': checkpointOf('traces'),
  '/api/ledger/traces/inclusion/:seq': inclusionOf('traces'),
  '/api/ledger/traces/consistency': consistencyOf('traces'),
  '/api/ledger/decisions/:id': {
    summary: 'One decision',
    description: 'The signed decision, exactly as it was returned.',
    requiresToken: true,
    parameters: [DECISION],
    type: 'application/json',
  },
  '/api/ledger/decisions/:id/evidence': {
    summary: 'The evidence of a decision',
    description:
      'What the decision was computed from, in canonical JSON. `evidence_sha256` is the digest of these bytes (docs/formats.md, ' +
      '"Evidence"). 404 for an unknown decision.',
    requiresToken: true,
    parameters: [DECISION],
    type: 'application/json',
  },
  '/api/ledger/decisions/:id/attestation': {
    summary: 'The attestation of a decision',
    description:
      'A DSSE envelope around an in-toto statement, signed with each live Ed25519 key of the instance (docs/formats.md, "Attestation").',
    requiresToken: true,
    parameters: [DECISION],
    type: 'application/json',
  },
  '/.well-known/jwks.json': {
    summary: "The instance's public keys",
    description:
      'A JSON Web Key Set (RFC 7517, RFC 8037); retired keys stay listed with the time of their retirement. The list ' +
      'always contains the keys that sign now.',
    requiresToken: false,
    parameters: [],
    type: 'application/json',
  },
} as const satisfies Record<`/${string}`, ReadEndpoint>;

/** A path of READ_ENDPOINTS. */
export type ReadEndpointPath = keyof typeof READ_ENDPOINTS;
