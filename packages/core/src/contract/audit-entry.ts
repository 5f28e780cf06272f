import { type Static, Type } from 'typebox';
import { calendarDate, flag, freeObject, label, nullable, optional, text, unboundedText, uuid } from './scalars.ts';

/** Body of POST /api/public/audit: one immutable entry of a tenant's audit ledger. */
export const AuditEntry = Type.Object(
  {
    actor: label({
      description: 'Who performed the action, according to the sender; `recorded_by` is the verified writer.',
      examples: ['ci:deploy-prod'],
    }),
    action: label({ description: 'Dotted form, <domain>.<verb>.', examples: ['agent.promoted'] }),
    subject: optional(text({ description: 'What the action applied to.', examples: ['support-bot'] })),
    rationale: optional(text({ description: 'Why.' })),
    framework: optional(label({ description: 'Regulatory or policy framework.', examples: ['EU AI Act'] })),
    trace_id: optional(label({ description: 'The run that the entry is about.' })),
    agent_id: optional(uuid({ description: 'The registered agent that the entry is about.' })),
    retention_until: optional(
      calendarDate({
        description: 'Retention keeps the run in `trace_id` at least until this day (UTC).',
        examples: ['2033-12-31'],
      }),
    ),
    metadata: optional(
      freeObject({ description: 'Free-form. It is hashed, so every number must be exact (docs/formats.md, "Exact numbers").' }),
    ),
  },
  { $id: 'AuditEntry', additionalProperties: false, description: "One entry for the tenant's hash-chained ledger." },
);
export type AuditEntry = Static<typeof AuditEntry>;

/** A SHA-256 in a response. */
const hash = (description: string) => Type.Unsafe<string>({ ...unboundedText({ description }), pattern: '^[0-9a-f]{64}$' });

/** Response of POST /api/public/audit. With `row_hash`, the caller can later check that the ledger contains the entry unchanged. */
export const AuditEntryAppended = Type.Object(
  {
    ok: flag({ description: 'Always true: the record is committed.' }),
    id: uuid({ description: 'ID of the entry.' }),
    row_hash: hash('The hash of this entry in the chain: SHA-256, hex (docs/formats.md).'),
    prev_hash: nullable(hash('row_hash of the previous entry; null for the first entry.')),
  },
  { $id: 'AuditEntryAppended' },
);
export type AuditEntryAppended = Static<typeof AuditEntryAppended>;
