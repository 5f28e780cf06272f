import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { portalClient } from '../harness/portal-client.ts';
import { paths, testServer } from '../harness/test-server.ts';

describe('the periodic comparison of the tables with the evidence log', () => {
  test("reports a changed row once in the server's log, and in /readyz, a metric and the overview until the row is restored", async () => {
    const lines: string[] = [];
    const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
    const watchingServer = await testServer({ checkpointSeconds: undefined, log });
    const tenantId = await watchingServer.workspace('watched');
    const key = await watchingServer.key(tenantId);
    await watchingServer.post(paths.evaluations, key, { name: 'nightly', agent_name: 'bot', pass_rate: 12 });
    const viewer = await portalClient(watchingServer, tenantId, 'viewer');
    const reportedFindings = async () => {
      await watchingServer.compareTables();
      const { warnings = [] } = (await (await fetch(`${watchingServer.url}/readyz`)).json()) as { warnings?: string[] };
      const metrics = await (await fetch(`${watchingServer.url}/metrics`)).text();
      return {
        warnings: warnings.filter((warning) => warning.includes('evidence log')),
        metric: /^countersign_evidence_findings (\d+)$/m.exec(metrics)?.[1],
        overview: (await viewer.getResult('overview.read')).differing_rows,
      };
    };
    const noFindings = { warnings: [], metric: '0', overview: [] };
    expect(await reportedFindings()).toEqual(noFindings);
    const [{ id }] = (await watchingServer.database.sql<{ id: string }>('SELECT id FROM countersign.agents')) as [{ id: string }];
    await watchingServer.database.sql(`UPDATE countersign.agents SET risk_level = 'high'`);
    const row = { table: 'agents', id, fault: 'its risk level is high, the log says low' };
    expect(await reportedFindings()).toEqual({ warnings: [expect.stringContaining('agents')], metric: '1', overview: [row] });
    await reportedFindings();
    expect(lines.map((line) => JSON.parse(line)).filter(({ table }) => table === 'agents')).toEqual([
      expect.objectContaining({ ...row, tenantId, level: 50 }),
    ]);
    await watchingServer.database.sql(
      `INSERT INTO countersign.agents (tenant_id, id, name) VALUES ($1, gen_random_uuid(), 'ghost')`,
      [tenantId],
    );
    expect((await reportedFindings()).overview).toHaveLength(2);
    await watchingServer.database.sql(`DELETE FROM countersign.agents WHERE name = 'ghost'`);
    await watchingServer.database.sql(`UPDATE countersign.agents SET risk_level = 'low'`);
    expect(await reportedFindings()).toEqual(noFindings);
    await watchingServer.stop();
  });
});
