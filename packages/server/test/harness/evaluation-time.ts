import { rebuildAllEvidence } from './evidence-log.ts';
import type { TestServer } from './test-server.ts';

/**
 * Changes the time of an agent's evaluations, as if time had passed or a clock had been wrong. Then rewrites the evidence log of every
 * workspace from the tables. Evaluations are append-only, so this needs the superuser.
 * @param agentName a name that only one workspace has.
 * @param moment an SQL expression for the new `recorded_at`.
 */
export async function setEvaluationTime({ database, open }: TestServer, agentName: string, moment: string): Promise<void> {
  await database.sql('ALTER TABLE countersign.evaluations DISABLE TRIGGER append_only');
  // The times have milliseconds, as in the log. They are computed before the UPDATE, in which Citus rejects expressions such as now().
  const times = await database.sql<{ tenant_id: string; id: string; moment: string }>(
    `SELECT tenant_id, id, date_trunc('milliseconds', (${moment})::timestamptz)::text AS moment FROM countersign.evaluations
      WHERE agent_id = (SELECT id FROM countersign.agents WHERE name = $1)`,
    [agentName],
  );
  for (const { tenant_id, id, moment } of times)
    await database.sql('UPDATE countersign.evaluations SET recorded_at = $3 WHERE tenant_id = $1 AND id = $2', [
      tenant_id,
      id,
      moment,
    ]);
  await database.sql('ALTER TABLE countersign.evaluations ENABLE ALWAYS TRIGGER append_only');
  await rebuildAllEvidence({ database, open });
}
