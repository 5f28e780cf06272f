import { beforeAll, describe, expect, test } from 'vitest';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

/**
 * Attack H of docs/threat-model.md: the owner of the database removes its protections. Each entry has the statement of an attack, the
 * statement that undoes it, and the expected finding and remedy.
 */
const ATTACKS = [
  {
    attack: 'ALTER TABLE countersign.decisions DISABLE TRIGGER append_only',
    undo: 'ALTER TABLE countersign.decisions ENABLE ALWAYS TRIGGER append_only',
    finding: /trigger decisions\.append_only is disabled/,
    remedy: /ALTER TABLE countersign\.decisions ENABLE ALWAYS TRIGGER append_only/,
  },
  {
    attack: 'CREATE RULE vanish AS ON INSERT TO countersign.incidents DO INSTEAD NOTHING',
    undo: 'DROP RULE vanish ON countersign.incidents',
    finding: /rule incidents\.vanish is not part of this schema/,
    remedy: /DROP RULE "vanish" ON countersign\.incidents/,
  },
  {
    attack: `CREATE TRIGGER steer BEFORE INSERT ON countersign.evaluations FOR EACH ROW EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()`,
    undo: 'DROP TRIGGER steer ON countersign.evaluations',
    finding: /trigger evaluations\.steer is not part of this schema/,
    remedy: /DROP TRIGGER "steer" ON countersign\.evaluations/,
  },
  {
    attack: 'ALTER TABLE countersign.agents NO FORCE ROW LEVEL SECURITY',
    undo: 'ALTER TABLE countersign.agents FORCE ROW LEVEL SECURITY',
    finding: /table agents is .*forced f/,
    remedy: /restore a backup/,
  },
  {
    attack: 'ALTER TABLE countersign.sessions RENAME COLUMN expires_at TO expired_at',
    undo: 'ALTER TABLE countersign.sessions RENAME COLUMN expired_at TO expires_at',
    finding: /column sessions\.expires_at is missing/,
    remedy: /restore a backup/,
  },
];

let server: TestServer;
const warnings = async () =>
  ((await (await fetch(`${server.url}/readyz`)).json()) as { warnings?: string[] }).warnings?.join(' ') ?? '';
const metric = async () =>
  Number(/^countersign_schema_findings (\d+)/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1]);
const verify = () => runCommand(environmentOf(server), 'ledger', 'verify', '--workspace', 'acme');

beforeAll(async () => {
  server = await testServer();
  await server.workspace('acme');
});

describe('the comparison of the schema with the schema of the migrations', () => {
  test('reports no finding when nothing was changed', async () => {
    await server.compareSchema();
    expect([await warnings(), await metric()]).toEqual([expect.not.stringContaining('schema'), 0]);
    expect(await verify()).toMatchObject({ status: 0, out: expect.not.stringContaining('schema') });
  });

  test.each(ATTACKS)(
    '`ledger verify` names the finding and the remedy for $attack; /readyz and the metrics report the change until it is undone',
    async ({ attack, undo, finding, remedy }) => {
      await server.database.sql(attack);
      await server.compareSchema();
      expect(await warnings()).toContain('the schema of the database was changed');
      expect(await metric()).toBeGreaterThan(0);
      const { status, out, err } = await verify();
      expect([status, out + err]).toEqual([0, expect.stringMatching(finding)]);
      expect(out + err).toMatch(remedy);
      await server.database.sql(undo);
      await server.compareSchema();
      expect([await warnings(), await metric()]).toEqual([expect.not.stringContaining('schema'), 0]);
    },
  );

  test('is made before a server listens', async () => {
    const { attack, undo, finding } = ATTACKS[0]!;
    await server.database.sql(attack);
    const { url } = await testServer({ database: server.database, options: { comparesSchemaFirst: true } });
    await server.database.sql(undo);
    const { warnings: found } = (await (await fetch(`${url}/readyz`)).json()) as { warnings?: string[] };
    expect(found?.join(' ')).toMatch(finding);
  });

  test('makes `ledger verify` name a replaced function and a dropped policy', async () => {
    const [policy] = await server.database.sql<{ name: string; definition: string }>(
      `SELECT polname AS name FROM pg_policy WHERE polrelid = 'countersign.approvals'::regclass`,
    );
    await server.database.sql(`DROP POLICY ${policy!.name} ON countersign.approvals`);
    const [triggerFunction] = await server.database.sql<{ name: string }>(
      `SELECT p.oid::regprocedure::text AS name FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid WHERE t.tgname = 'append_only' AND t.tgrelid = 'countersign.decisions'::regclass`,
    );
    await server.database.sql(
      `CREATE OR REPLACE FUNCTION ${triggerFunction!.name} RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`,
    );
    const { status, out, err } = await verify();
    expect(status).toBe(0);
    expect(out + err).toMatch(new RegExp(`policy approvals\\.${policy!.name} is missing`));
    expect(out + err).toMatch(/function refuse_change\(\) is .*source/);
  });
});
