import { findInexactParts } from '@countersign/core/domain/exact-json';
import { receiptOf } from '../index.ts';
import { command } from './command.ts';
import { wrongUse } from './exit-codes.ts';
import { readTextFile } from './files.ts';
import { idempotencyOf, readLabel, readUuid } from './option-values.ts';
import { CONNECTION, type Options } from './options.ts';
import { recordIdOf } from './record-id.ts';

const OPTIONS = {
  actor: { type: 'string', value: 'TEXT', help: 'who performed the action, such as ci:deploy-prod' },
  action: { type: 'string', value: 'TEXT', help: 'what was done, in dotted form, such as agent.promoted' },
  subject: { type: 'string', value: 'TEXT', help: 'what the action applied to' },
  rationale: { type: 'string', value: 'TEXT', help: 'why the action was performed' },
  framework: { type: 'string', value: 'TEXT', help: 'regulatory or policy framework' },
  'trace-id': { type: 'string', value: 'TEXT', help: 'the run that the entry is about' },
  'agent-id': { type: 'string', value: 'UUID', help: 'the agent that the entry is about' },
  'retention-until': {
    type: 'string',
    value: 'DATE',
    help: 'retention keeps the run of --trace-id at least until this day, YYYY-MM-DD',
  },
  metadata: { type: 'string', value: 'FILE', help: 'a file with a JSON object, which is hashed with the entry' },
  'idempotency-key': {
    type: 'string',
    value: 'KEY',
    help: 'a retry with the same key and entry within 24 hours is not stored again; choose a key that others cannot guess',
  },
  ...CONNECTION,
} as const satisfies Options;

/** The largest file of metadata, in bytes. By default the service has the same limit for a whole entry. */
const METADATA_BYTES_MAX = 1024 * 1024;

/** `audit append`: appends one entry to the ledger and prints its hash. */
export const auditAppend = command({
  name: 'audit append',
  summary: 'Append one entry to the ledger and print its row_hash.',
  options: OPTIONS,
  examples: [
    'countersign audit append --actor ci:deploy-prod --action agent.promoted --subject support-bot --rationale "release 2026.47"',
  ],
  async run(session, values) {
    const { actor, action, metadata } = values;
    if (actor === undefined || action === undefined) throw wrongUse('give --actor and --action: who did what');
    const entry = {
      actor: readLabel('--actor', actor),
      action: readLabel('--action', action),
      subject: values.subject,
      rationale: values.rationale,
      framework: values.framework,
      trace_id: values['trace-id'],
      agent_id: values['agent-id'] === undefined ? undefined : readUuid('--agent-id', values['agent-id']),
      retention_until: values['retention-until'],
      metadata: metadata === undefined ? undefined : readMetadata(metadata),
    };
    const options = idempotencyOf(values['idempotency-key']);
    const client = await session.client(values);
    const appended = await client.audit.append(entry, options);
    const hash = recordIdOf(appended, 'row_hash');
    const seq = /^\d{1,15}$/.exec(receiptOf(appended)?.headers['countersign-ledger-seq'] ?? '')?.[0];
    session.writeResult({ ...appended, seq: seq === undefined ? null : Number(seq) }, [hash]);
    session.say(`appended as row ${seq ?? '?'} of the ledger`);
    return 'ok';
  },
});

/**
 * The object in a file of metadata. The entry is hashed, so the service rejects repeated members and inexact numbers. The client sends the
 * parsed object, which no longer shows them, so this function rejects them.
 */
function readMetadata(path: string): Record<string, unknown> {
  const text = readTextFile(path, METADATA_BYTES_MAX);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw wrongUse(`${JSON.stringify(path)} is not JSON: ${(error as Error).message}`, error);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrongUse(`${JSON.stringify(path)} must contain a JSON object`);
  const [inexact] = findInexactParts(text);
  if (inexact !== undefined) throw wrongUse(`${JSON.stringify(path)}: ${inexact.message} (at ${inexact.path})`);
  return value as Record<string, unknown>;
}
