import type { Pool } from 'pg';
import type { Admission } from '../database/admission.ts';
import type { FreeSpace } from '../database/free-space.ts';
import type { Compressor } from '../http/compressor.ts';
import type { Outgoing } from '../http/outgoing.ts';
import type { LedgerReader } from '../ledger/ledger-reader.ts';
import type { RowFinding, RowFindings } from '../ledger/row-findings.ts';
import type { SameOrigin } from './same-origin.ts';
import type { SecurityHeaders } from './security-headers.ts';
import type { SessionCookie } from './session-cookie.ts';

/** The parts of the portal, which app/open-portal.ts assembles and every handler receives. */
export interface PortalParts {
  /** For actions. */
  pool: Pool;
  /** For the check of session and membership in each request. */
  sessionPool: Pool;
  /** For lists and pages. */
  readPool: Pool;
  headers: SecurityHeaders;
  /** Rejects changes while the disk of the database is nearly full, except those with `usesReserve`; undefined for an external database. */
  space: FreeSpace | undefined;
  /** Reads the logs with their proofs. */
  reader: LedgerReader;
  /** Rows that differ from the evidence log. */
  evidenceFindings: Pick<RowFindings<RowFinding>, 'of'>;
  /** The first fault of each log except the trace log, and rows of other tables that differ from one of these logs. */
  ledgerFindings: Pick<RowFindings<RowFinding>, 'of'>;
  /** The first fault of the trace log, and rows that differ from this log. */
  traceFindings: Pick<RowFindings<RowFinding>, 'of'>;
  /** Derives a workspace's decision key. */
  decisionKey: (tenantId: string, keyId: string) => Uint8Array;
  cookie: SessionCookie;
  sameOrigin: SameOrigin;
  /** Whether a proxy reports the clients' addresses (X-Forwarded-For). */
  behindProxy: boolean;
  /** Limits the bodies in memory. */
  reading: Admission;
  /** Limits the responses in memory. */
  outgoing: Outgoing;
  /** Compresses JSON responses. */
  compressor: Compressor;
  /** The maximum size of a body, in bytes. */
  bytesMax: number;
}
