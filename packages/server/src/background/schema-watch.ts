import type { Logger } from 'pino';
import type { Pools } from '../database/pools.ts';
import { type SchemaFinding, schemaFindings } from '../database/schema-findings.ts';
import { readSchemaFacts } from '../storage/schema-facts.ts';

/** How often the schema is compared. A comparison is one statement on the catalog and takes a few milliseconds. */
const ROUND_MS = 5 * 60_000;

/** Compares the database's schema with the schema that the migrations create, while the server runs. */
export interface SchemaWatch {
  /** Number of differences, as of the last comparison. */
  readonly count: number;
  /** One line for `/readyz`; undefined without a difference. */
  readonly summary: string | undefined;
  /** Compares once. */
  round(): Promise<void>;
  stop(): void;
}

/**
 * Compares the schema every five minutes; the caller calls `round` for the first comparison. Each difference is logged once. A difference
 * only causes a warning (docs/decisions/0047), because the seals do not depend on triggers.
 */
export function watchSchema({ ledgerPool }: Pick<Pools, 'ledgerPool'>, log: Logger): SchemaWatch {
  let findings: readonly SchemaFinding[] = [];
  let isStopped = false;
  const round = async () => {
    try {
      const reported = new Set(findings.map(identity));
      findings = schemaFindings(await readSchemaFacts(ledgerPool));
      for (const finding of findings)
        if (!reported.has(identity(finding))) log.error(finding, 'the schema of the database was changed outside the server');
    } catch (error) {
      if (!isStopped) log.warn({ reason: (error as Error).message }, 'the schema of the database was not compared this time');
    }
  };
  const timer = setInterval(() => void round(), ROUND_MS).unref();
  return {
    get count() {
      return findings.length;
    },
    get summary() {
      const [first] = findings;
      if (first === undefined) return undefined;
      const more = findings.length === 1 ? '' : ` and ${findings.length - 1} more`;
      return `the schema of the database was changed: ${first.object} ${first.fault}${more}; the server's log has the remedy`;
    },
    round,
    stop: () => {
      isStopped = true;
      clearInterval(timer);
    },
  };
}

const identity = ({ object, fault }: SchemaFinding): string => `${object} ${fault}`;
