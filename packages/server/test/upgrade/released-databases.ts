import { fileURLToPath } from 'node:url';

/** The folder of the databases of released versions: VERSION.backup, and VERSION.json with its `DatabaseFacts`. */
export const DATABASES = fileURLToPath(new URL('../fixtures/databases/', import.meta.url));

/** The passphrase that encrypts the secrets in the backups. The secrets protect nothing, so the passphrase is public. */
export const PASSPHRASE = 'the secrets of a fixture protect nothing';

export const LOGS = ['audit', 'decisions', 'evidence', 'keys', 'traces'] as const;

/** What the test of an upgrade needs besides the backup of a version. */
export interface DatabaseFacts {
  key: string;
  revokedKey: string;
  readToken: string;
  email: string;
  password: string;
  /** The IDs of the traces in the portal, by their trace_id. */
  runs: Record<string, string>;
  /** The trace_id of a run that arrived by OpenTelemetry. */
  otlpTrace: string;
  /** Promotion decisions of the workspace `acme`, in order. */
  decisions: { id: string; allowed: boolean }[];
  /** The instance's verifier key for signed notes. */
  verifyKey: string;
  /** The signed checkpoint of each log of the workspace `acme`. */
  checkpoints: Record<string, string>;
}
