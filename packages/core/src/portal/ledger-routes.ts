import { type Static, Type } from 'typebox';
import { count, dateTime, label, nullable, oneOf, text, unboundedText, uuid } from '../contract/scalars.ts';
import { agentOrNone } from './agent-facts.ts';
import { DifferingRow } from './differing-row.ts';
import { filter, page, pageQuery, WORKSPACE, wholeNumberText } from './listing.ts';
import type { PortalRoute } from './route.ts';

/** The logs of a workspace. Each has a tree and checkpoints. */
export const LOGS = ['audit', 'decisions', 'evidence', 'keys', 'traces'] as const;
export type PortalLog = (typeof LOGS)[number];

/** A SHA-256 digest, 64 hex digits. */
const digest = (description: string) => Type.Unsafe<string>({ ...unboundedText({ description }), pattern: '^[0-9a-f]{64}$' });

/** An entry in the list. */
export const ListedEntry = Type.Object({
  seq: count({ minimum: 1, description: 'Its number, from 1 without gaps.' }),
  id: uuid({ description: 'ID of the entry.' }),
  recorded_at: dateTime({ description: 'When it was appended.' }),
  recorded_by: label({
    description: 'The verified writer: key:<prefix>, user:<uuid>, operator, system:promotion-gate or system:retention.',
  }),
  actor: label({ description: 'Who performed the action, according to the sender.' }),
  action: label({ description: 'What was done, for example agent.promoted.' }),
  subject: nullable(text({ description: 'What the action applied to.' })),
  rationale: nullable(text({ description: 'The reason; its first 500 characters.' })),
  trace_id: nullable(label({ description: 'The trace_id of the run that the entry is about.' })),
  agent: agentOrNone('The agent that the entry is about; null if none was named.'),
  row_hash: digest('The hash of the entry in the hash chain (SHA-256).'),
});
export type ListedEntry = Static<typeof ListedEntry>;

/** The previous or next entry, as stored. */
export const AdjacentEntry = Type.Object({
  seq: count({ minimum: 1, description: 'Its number.' }),
  row_hash: digest('Its chain hash.'),
  prev_hash: nullable(digest('Its prev_hash: the chain hash of the entry before it.')),
});
export type AdjacentEntry = Static<typeof AdjacentEntry>;

/** One entry with the text that is hashed, and the entries directly before and after it. */
export const EntryDetail = Type.Object({
  ...ListedEntry.properties,
  rationale: nullable(text({ description: 'The reason.' })),
  framework: nullable(label({ description: 'Regulatory or policy framework.' })),
  retention_until: nullable(label({ description: 'Retention keeps the run in `trace_id` at least until this day (UTC).' })),
  metadata: nullable(Type.Unsafe<Record<string, unknown>>({ type: 'object', description: 'Free-form.' })),
  prev_hash: nullable(digest('row_hash of the previous entry; null for the first entry.')),
  document: unboundedText({
    description:
      'The canonical text (RFC 8785). row_hash is the hash of a fixed prefix and this text (docs/formats.md, "Audit row").',
  }),
  previous: Type.Union([AdjacentEntry, Type.Null()], {
    description: 'The previous entry, as it is stored; null for the first entry.',
  }),
  next: Type.Union([AdjacentEntry, Type.Null()], {
    description: 'The next entry, as it is stored; null for the last entry, or if the next entry was deleted.',
  }),
  last_seq: nullable(
    count({ description: 'Number of the last entry, according to the head of the ledger; null if the head is not valid.' }),
  ),
});
export type EntryDetail = Static<typeof EntryDetail>;

/** The number and hash of the last entry of the ledger. */
export const LedgerHead = Type.Object({
  tenant_id: uuid({ description: 'The ID of the workspace, which the hash of each entry covers.' }),
  seq: count({ description: 'Number of the last entry, and so the number of entries in a complete chain; 0 if there is none.' }),
  row_hash: nullable(digest('Chain hash of the last entry; null if there is none.')),
});
export type LedgerHead = Static<typeof LedgerHead>;

/** The current state of a log. */
export const LogStatus = Type.Object({
  log: oneOf(LOGS, { description: 'Which log.' }),
  rows: count({ description: 'Number of its rows; 0 if its head is not valid.' }),
  checkpoint: Type.Union(
    [
      Type.Object({
        size: count({ description: 'The number of rows that it covers.' }),
        signed_at: dateTime({ description: 'When it was signed.' }),
      }),
      Type.Null(),
    ],
    { description: 'The latest checkpoint; null if none was signed.' },
  ),
  fault: nullable(unboundedText({ description: 'Why the head of the log is not valid; null if it is valid.' })),
});
export type LogStatus = Static<typeof LogStatus>;

/** A proof that one tree is a prefix of another. */
export const Consistency = Type.Object({
  log: oneOf(LOGS, { description: 'Which log.' }),
  first: count({ description: 'The number of rows of the earlier tree.' }),
  second: count({ description: 'The number of rows of the later tree.' }),
  hashes: Type.Array(unboundedText({ description: 'The hash of a node, in base64.' }), { description: 'The proof (RFC 6962).' }),
  checkpoint: nullable(
    unboundedText({ description: 'The checkpoint of the later tree, a signed note; null if none was signed.' }),
  ),
});

export const ledgerRoutes = {
  'ledger.list': {
    method: 'GET',
    path: `${WORKSPACE}/ledger/entries`,
    access: 'viewer',
    compressed: true,
    summary: 'The entries of the audit ledger, latest first.',
    query: pageQuery({
      actor: filter.label('Only this actor.'),
      action: filter.label('Only this action.'),
      agent_id: filter.agent(),
      trace_id: filter.label('Only this run.'),
      from: filter.from(),
      to: filter.to(),
    }),
    response: page(ListedEntry),
  },
  'ledger.actions': {
    method: 'GET',
    path: `${WORKSPACE}/ledger/actions`,
    access: 'viewer',
    compressed: true,
    summary: 'The actions in the ledger, for the filter of the list: at most 200, by name.',
    response: Type.Object({ actions: Type.Array(label({ description: 'An action.' }), { description: 'By name.' }) }),
  },
  'ledger.read': {
    method: 'GET',
    path: `${WORKSPACE}/ledger/entries/:seq`,
    access: 'viewer',
    compressed: true,
    summary: 'One entry by its number, with the entries directly before and after it.',
    response: EntryDetail,
  },
  'ledger.head': {
    method: 'GET',
    path: `${WORKSPACE}/ledger/head`,
    access: 'viewer',
    compressed: true,
    summary: 'The number and hash of the last entry. A complete verification reaches this entry.',
    response: LedgerHead,
  },
  'ledger.export': {
    method: 'GET',
    path: `${WORKSPACE}/ledger/export`,
    access: 'viewer',
    compressed: false,
    summary:
      'A stream: the entries from one number to another, both included, as NDJSON, for download and for the verification in the browser.',
    query: Type.Object(
      {
        from: Type.Optional(wholeNumberText('Number of the first entry; default 1.')),
        to: Type.Optional(wholeNumberText('Number of the last entry; default the last entry.')),
      },
      { additionalProperties: false },
    ),
  },
  'logs.list': {
    method: 'GET',
    path: `${WORKSPACE}/logs`,
    access: 'viewer',
    compressed: true,
    summary: 'Every log of the workspace: its number of rows, its latest checkpoint, and whether its head is valid.',
    response: Type.Object({
      items: Type.Array(LogStatus, { description: 'By name.' }),
      differing_rows: Type.Array(DifferingRow, {
        description: 'Rows that differ from their log, as of the last comparisons; about 20 at most from each comparison.',
      }),
    }),
  },
  'logs.checkpoint': {
    method: 'GET',
    path: `${WORKSPACE}/logs/:log/checkpoint`,
    access: 'viewer',
    compressed: false,
    summary: 'A file: a checkpoint of a log over all its rows (C2SP signed note).',
  },
  'logs.inclusion': {
    method: 'GET',
    path: `${WORKSPACE}/logs/:log/inclusion/:seq`,
    access: 'viewer',
    compressed: false,
    summary: 'A file: the proof that a row is in a log (C2SP tlog-proof).',
  },
  'logs.consistency': {
    method: 'GET',
    path: `${WORKSPACE}/logs/:log/consistency`,
    access: 'viewer',
    compressed: true,
    summary: 'The proof that an earlier tree is a prefix of a later one.',
    query: Type.Object(
      {
        first: wholeNumberText('The number of rows of the earlier tree.'),
        second: Type.Optional(wholeNumberText('The number of rows of the later tree; default all rows.')),
      },
      { additionalProperties: false },
    ),
    response: Consistency,
  },
} as const satisfies Record<string, PortalRoute>;
