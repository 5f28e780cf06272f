import { beforeAll, expect, test } from 'vitest';
import { type PortalClient, portalClient } from '../bed/portal-client.ts';
import { paths, type TestServer, testServer } from '../bed/test-server.ts';

const ENTRIES = 9;
const ENTRY_BYTES = 700_000;
/** What a page may read: 2 MiB, and the entry that goes beyond them. */
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
  'a page of %s reads 2 MiB, and the pages together have all',
  async (name) => {
    const seqs: number[] = [];
    let cursor: string | null = null;
    do {
      const page = (await viewer.get(name, { query: { limit: '200', ...(cursor === null ? {} : { cursor }) } })) as {
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

test('a row of the list has its subject and the first 500 characters of its rationale', async () => {
  const [row] = (await viewer.get('ledger.list', { query: { limit: '1' } })).items;
  expect([row!.subject, row!.rationale]).toEqual([`entry ${ENTRIES}`, 'r'.repeat(500)]);
});
