import type { Config } from '../config/config.ts';
import { usesTls } from '../config/public-address.ts';
import { deriveDecisionKey } from '../crypto/digests.ts';
import { Compressor } from '../http/compressor.ts';
import type { PortalParts } from '../portal/portal-parts.ts';
import { sameOrigin } from '../portal/same-origin.ts';
import { securityHeaders } from '../portal/security-headers.ts';
import { SessionCookie } from '../portal/session-cookie.ts';
import type { OpenDatabase } from './open-database.ts';

/** Creates the parts that the portal's handlers use. */
export function openPortal(
  config: Config,
  { pool, sessionPool, readPool, secrets }: OpenDatabase,
  parts: Pick<PortalParts, 'reader' | 'reading' | 'space' | 'outgoing' | 'evidenceFindings' | 'ledgerFindings' | 'traceFindings'>,
): PortalParts {
  const { behindProxy } = config;
  const isTls = usesTls(config);
  return {
    ...parts,
    pool,
    headers: securityHeaders({ isTls }),
    sessionPool,
    readPool,
    decisionKey: (tenantId, keyId) => deriveDecisionKey(secrets.masterSecret, tenantId, keyId),
    cookie: new SessionCookie(isTls),
    sameOrigin: sameOrigin({ isTls, behindProxy, publicUrl: config.publicUrl }),
    behindProxy,
    compressor: new Compressor(),
    bytesMax: config.recordBytesMax,
  };
}
