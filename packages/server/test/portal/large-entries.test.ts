import { beforeAll, expect, test } from 'vitest';
import { decisionOn, type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const ENTRIES = 9;
const ENTRY_BYTES = 700_000;
/** The maximum number of entries on a page. A page ends with the entry that brings its total size to 2 MiB or more. */
const PAGE_ENTRIES_MAX = 3;

let server: TestServer;
let viewer: PortalClient;

beforeAll(async () => {
  server = await testServer();
  const workspace = await server.workspace();
  const key = await server.key(workspace);
  viewer = await portalClient(server, workspace, 'viewer');
  for (let number = 1; number <= ENTRIES; number += 1) {
    const metadata = { text: 'x'.repeat(ENTRY_BYTES) };
    const entry = { actor: 'ci', action: 'policy.violation', subject: `entry ${number}`, rationale: 'r'.repeat(600), metadata };
    expect((await server.post(paths.audit, key, entry)).status).toBe(200);
  }
});

test.each(['ledger.list', 'violations.list'] as const)(
  'a page of %s ends after about 2 MiB of entries, and the pages together contain every entry',
  async (name) => {
    const seqs: number[] = [];
    let cursor: string | null = null;
    do {
      const page = (await viewer.getResult(name, { query: { limit: '200', ...(cursor === null ? {} : { cursor }) } })) as {
        items: { seq: number }[];
        next: string | null;
      };
      expect(page.items.length).toBeGreaterThan(0);
      expect(page.items.length).toBeLessThanOrEqual(PAGE_ENTRIES_MAX);
      seqs.push(...page.items.map(({ seq }) => seq));
      cursor = page.next;
    } while (cursor !== null);
    expect(seqs).toEqual(Array.from({ length: ENTRIES }, (_, index) => ENTRIES - index));
  },
);

test('a row of the ledger list has its subject and the first 500 characters of its rationale', async () => {
  const [row] = (await viewer.getResult('ledger.list', { query: { limit: '1' } })).items;
  expect([row!.subject, row!.rationale]).toEqual([`entry ${ENTRIES}`, 'r'.repeat(500)]);
});

test('a long rationale in the ledger list is cut between characters, and a short rationale is shown unchanged', async () => {
  const workspace = await server.workspace();
  const key = await server.key(workspace);
  const [short, long] = [`x${'\u{1f600}'.repeat(400)}`, `x${'\u{1f600}'.repeat(600)}`];
  for (const rationale of [short, long])
    expect((await server.post(paths.audit, key, { actor: 'ci', action: 'policy.violation', rationale })).status).toBe(200);
  const { items } = await (await portalClient(server, workspace, 'viewer')).getResult('ledger.list');
  expect(items.map((each) => each.rationale)).toEqual([`x${'\u{1f600}'.repeat(499)}`, short]);
});

test('lists and the overview show the first 500 characters of long texts, and single records the whole text', async () => {
  const workspace = await server.workspace();
  const key = await server.key(workspace);
  const admin = await portalClient(server, workspace, 'admin');
  const long = '🦉'.repeat(30_000);
  /** The length of a prefix of the long text in characters; -1 for any other text. */
  const lengthOf = (text: string | null) => (text !== null && long.startsWith(text) ? text.length / '🦉'.length : -1);
  const { body: evaluation } = await server.post(paths.evaluations, key, { agent_name: 'clerk', name: 'suite', pass_rate: 1 });
  const agent = (await admin.getResult('agents.list')).items[0]!.id;
  const report = { agent_id: agent, severity: 'low', description: long, recertify: true };
  const { body: incident } = await admin.callRoute('incidents.open', { body: report });
  const openRecertifications = (await admin.getResult('overview.read')).recertifications;
  expect(openRecertifications.map(({ description }) => lengthOf(description))).toEqual([500]);

  await server.post(paths.evaluations, key, { agent_name: 'clerk', name: 'suite', status: 'passing', pass_rate: 1 });
  const { closing } = await admin.getResult('incidents.read', { params: { incident: incident.id } });
  const closure = { rationale: long, seen: closing!.seen };
  const closeResponse = await admin.callRoute('recertifications.close', { params: { agent }, body: closure });
  expect(closeResponse.status).toBe(200);
  const [listedIncident] = (await admin.getResult('incidents.list')).items;
  expect([listedIncident!.description, listedIncident!.closing_rationale].map(lengthOf)).toEqual([500, 500]);
  const read = await admin.getResult('incidents.read', { params: { incident: incident.id } });
  expect([read.description, read.closing_rationale].map(lengthOf)).toEqual([30_000, 30_000]);

  await admin.callRoute('agents.set_risk', { params: { agent }, body: { risk_level: 'high' } });
  await admin.callRoute('approvals.approve', {
    params: { evaluation: evaluation.id },
    body: await decisionOn(admin, evaluation.id, long),
  });
  const [approved] = (await admin.getResult('approvals.list', { query: { status: 'approved' } })).items;
  expect(lengthOf(approved!.rationale)).toBe(500);
  const { approval } = await admin.getResult('approvals.read', { params: { evaluation: evaluation.id } });
  expect(lengthOf(approval!.rationale)).toBe(30_000);
});
