import type { AuditEntry } from '@countersign/core/contract/audit-entry';
import { agentClaim } from '@countersign/core/domain/agent-claim';
import type { Endpoint } from './endpoint.ts';
import { recordedByKey } from './ingest-request.ts';
import { idempotencyOf } from './replays.ts';
import type { PreparedAudit } from './write-audit.ts';

/** POST /api/public/audit: appends one entry. The response contains its row_hash, which identifies it in the ledger. */
export const appendAuditEntry: Endpoint<AuditEntry, PreparedAudit> = {
  submit: ({ audit }, { principal }, prepared) => audit.submit(principal.tenantId, prepared),
  prepare: (request, entry) => ({
    bytes: request.document.length + 1000,
    ...idempotencyOf(request),
    claim: agentClaim(entry),
    entry: {
      recorded_by: recordedByKey(request.principal),
      actor: entry.actor,
      action: entry.action,
      subject: entry.subject ?? null,
      rationale: entry.rationale ?? null,
      framework: entry.framework ?? null,
      trace_id: entry.trace_id ?? null,
      agent_id: entry.agent_id?.toLowerCase() ?? null,
      retention_until: entry.retention_until ?? null,
      metadata: entry.metadata ?? null,
    },
  }),
};
