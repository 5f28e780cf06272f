import type { Pool } from 'pg';
import type { Admission } from '../database/admission.ts';
import type { FreeSpace } from '../database/free-space.ts';
import type { Compressor } from '../http/compressor.ts';
import type { Outgoing } from '../http/outgoing.ts';
import type { EvidenceFindings } from '../ledger/evidence-findings.ts';
import type { LedgerReader } from '../ledger/ledger-reader.ts';
import type { SameOrigin } from './same-origin.ts';
import type { SecurityHeaders } from './security-headers.ts';
import type { SessionCookie } from './session-cookie.ts';

/** What the portal stands on; made in app/start-server.ts and handed to every handler. */
export interface PortalParts {
  /** For acts. */
  pool: Pool;
  /** For looking up who asks. */
  sessionPool: Pool;
  /** For lists and pages. */
  readPool: Pool;
  headers: SecurityHeaders;
  /** Refuses what makes the database grow while its disk is nearly full; undefined for an outside database. */
  space: FreeSpace | undefined;
  /** Reads the record with its proofs. */
  reader: LedgerReader;
  /** Rows that differ from the log of evidence. */
  findings: Pick<EvidenceFindings, 'of'>;
  /** Derives a workspace's decision key. */
  decisionKey: (tenantId: string, keyId: string) => Uint8Array;
  cookie: SessionCookie;
  sameOrigin: SameOrigin;
  /** Whether addresses are those that a proxy says (X-Forwarded-For). */
  behindProxy: boolean;
  /** Bounds the bodies that are in memory. */
  reading: Admission;
  /** Bounds the responses that are in memory. */
  outgoing: Outgoing;
  /** Compresses JSON answers. */
  compressor: Compressor;
  /** Largest body, in bytes. */
  bytesMax: number;
}
