import { rebuildAllEvidence } from './evidence-log.ts';
import type { TestServer } from './test-server.ts';

/**
 * Gives the evaluations of an agent another time, as if time had passed or a clock was wrong, and rewrites the evidence log
 * from the tables. Evaluations are append-only, so this needs the superuser.
 * @param moment SQL of the new `recorded_at`.
 */
export async function setEvaluationTime({ database, open }: TestServer, agentName: string, moment: string): Promise<void> {
  await database.sql('ALTER TABLE countersign.evaluations DISABLE TRIGGER append_only');
  await database.sql(
    `UPDATE countersign.evaluations SET recorded_at = ${moment} WHERE agent_id = (SELECT id FROM countersign.agents WHERE name = $1)`,
    [agentName],
  );
  await database.sql('ALTER TABLE countersign.evaluations ENABLE ALWAYS TRIGGER append_only');
  await rebuildAllEvidence({ database, open });
}
