import { beforeAll, describe, expect, test } from 'vitest';
import { createWorkspace } from '../../src/workspace/create-workspace.ts';
import { type CommandResult, environmentOf, runCommand } from '../fixtures/run-command.ts';
import { portalClient } from '../harness/portal-client.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let environment: Record<string, string>;

beforeAll(async () => {
  server = await testServer();
  environment = environmentOf(server);
});

const run = (...args: string[]): Promise<CommandResult> => runCommand(environment, ...args);

/** Creates a workspace with an admin who can rename it. */
async function createWorkspaceWithAdmin(name?: string) {
  const id = await server.workspace(name);
  return { id, admin: await portalClient(server, id, 'admin') };
}

describe('the workspace name of another tenant', () => {
  test('can be the new name in a rename; the response has the same status and members as for an unused name', async () => {
    const victim = await createWorkspaceWithAdmin('globex');
    const { id, admin } = await createWorkspaceWithAdmin();
    const free = await admin.callRoute('workspace.rename', { body: { name: 'a name of nobody' } });
    const taken = await admin.callRoute('workspace.rename', { body: { name: 'globex' } });
    expect([free.status, taken.status]).toEqual([200, 200]);
    expect(Object.keys(taken.body)).toEqual(Object.keys(free.body));
    expect(taken.body).toMatchObject({ id, name: 'globex' });
    expect(await victim.admin.getResult('workspace.read')).toMatchObject({ id: victim.id, name: 'globex' });
  });

  test('is in no index, so a rename neither compares it with other names nor waits for another tenant', async () => {
    const indexes = await server.database.sql<{ indexdef: string }>(
      `SELECT indexdef FROM pg_indexes WHERE schemaname = 'countersign' AND tablename = 'tenants'`,
    );
    expect(indexes.map(({ indexdef }) => indexdef).filter((text) => /\bname\b/.test(text.split(' USING ')[1]!))).toEqual([]);
  });
});

describe('--workspace', () => {
  test('with a name of two workspaces is refused with a message that lists both IDs, and each ID works', async () => {
    const first = await createWorkspaceWithAdmin('initech');
    const second = await createWorkspaceWithAdmin();
    await second.admin.getResult('workspace.rename', { body: { name: 'initech' } });
    const { status, out, err } = await run('agents', 'list', '--workspace', 'initech');
    expect({ status, out }).toEqual({ status: 9, out: '' });
    expect(err).toContain('2 workspaces are named "initech"');
    for (const { id } of [first, second]) {
      expect(err).toContain(id);
      expect((await run('agents', 'list', '--workspace', id)).status).toBe(0);
      expect((await run('agents', 'list', '--workspace', id.toUpperCase())).status).toBe(0);
    }
  });

  test('with an ID selects that workspace, even if another workspace has the ID as its name', async () => {
    const victim = await createWorkspaceWithAdmin();
    const attacker = await createWorkspaceWithAdmin();
    await attacker.admin.getResult('workspace.rename', { body: { name: victim.id } });
    expect((await run('keys', 'mint', '--workspace', victim.id, '--name', 'ci', '--scopes', 'audit')).status).toBe(0);
    const keys = async (id: string) => JSON.parse((await run('keys', 'list', '--workspace', id, '--json')).out);
    expect([(await keys(victim.id)).length, (await keys(attacker.id)).length]).toEqual([1, 0]);
  });

  test('with an unknown ID is refused, even if a workspace has this ID as its name', async () => {
    const { admin } = await createWorkspaceWithAdmin();
    const unknownId = '00000000-0000-7000-8000-000000000000';
    await admin.getResult('workspace.rename', { body: { name: unknownId } });
    const { status, err } = await run('agents', 'list', '--workspace', unknownId);
    expect({ status, err }).toEqual({ status: 9, err: expect.stringContaining('there is no workspace') });
  });
});

describe('`workspace create`', () => {
  test('prints a next command that finds the new workspace, even if its name has the form of an ID', async () => {
    const { out, err } = await run('workspace', 'create', '--name', '01a21f18-22ba-7134-bef2-d6553e24ee8a');
    expect(err).toContain(`keys mint --workspace ${out.trim()} ...`);
    expect((await run('workspace', 'create', '--name', 'Acme 2')).err).toContain("keys mint --workspace 'Acme 2' ...");
  });

  test('succeeds for one of eight concurrent calls with the same name and is refused for the others', async () => {
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => createWorkspace(server.open.pool, 'at once')));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason.message).toMatch(/"at once" exists already; choose another name/);
  });
});
