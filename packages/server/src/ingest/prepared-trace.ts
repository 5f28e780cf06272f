import type { AgentClaim } from '@countersign/core/domain/agent-claim';
import type { Usage } from '@countersign/core/domain/usage';
import type { ApiError } from '../errors/api-error.ts';
import type { TraceFacts } from '../storage/traces.ts';
import type { Replayable } from './replays.ts';

/** A trace request ready to be written: its searchable columns, and the bytes of its body. */
export interface PreparedTrace extends Replayable, Omit<TraceFacts, 'id' | 'agentId' | 'totals'> {
  /** The totals of this request alone, or an error if they are too large. Used only for the first request of a trace. */
  totals: Usage | ApiError;
  document: Buffer;
  /** SHA-256 of the document, 64 hex digits. */
  documentSha256: string;
  recordedBy: string;
  claim: AgentClaim;
  /** The result of `spansText` for its spans. A text takes less memory in the queue than objects. */
  spans: string;
  /** The OpenTelemetry export that contains the trace: `otlp_exports.id`, and the SHA-256 of the stored body. */
  export?: { id: string; sha256: string };
}
