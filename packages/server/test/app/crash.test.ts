import { setTimeout as sleep } from 'node:timers/promises';
import { acquireEmbeddedDatabase } from '@countersign/embedded-database';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { killAll, until } from '../../../embedded-database/test/harness/processes.ts';
import { type AcknowledgedRequest, Callers, send } from '../fixtures/callers.ts';
import { expectStored } from '../fixtures/records.ts';
import { newKey } from '../fixtures/run-command.ts';
import { DataFolder, ServerProcess } from '../fixtures/server-process.ts';
import { sealedPool } from '../harness/sealed.ts';

const CALLERS = 16;

let folder: DataFolder;
let server: ServerProcess;
let tenantId: string;
let key: string;
/** The acknowledged requests of all rounds. */
const acknowledged: AcknowledgedRequest[] = [];

beforeAll(async () => {
  folder = DataFolder.migrated();
  server = await ServerProcess.start(folder.environment);
  ({ tenantId, key } = await newKey(folder.environment, 'crash'));
});

afterAll(async () => {
  await server?.end('SIGTERM');
  await folder.clear();
});

/** Checks the records as the superuser while the server keeps the database running. */
async function expectAllKept(): Promise<void> {
  const database = await acquireEmbeddedDatabase({ dataDir: folder.path, notify: () => undefined });
  const pool = sealedPool(database.superuser, folder.path);
  try {
    await expectStored(pool, tenantId, acknowledged);
  } finally {
    await pool.end();
    await database.release();
  }
}

const victims = {
  'the server': () => [server.pid],
  'the database': () => [folder.postmaster()],
  'the database and then the server': () => [folder.postmaster(), server.pid],
  'the server and then the database': () => [server.pid, folder.postmaster()],
};

/** The moments of the kills, in milliseconds after the server acknowledged 48 requests. Each victim is killed at each moment. */
const DELAYS_MS = [0, 100, 200];
const rounds = DELAYS_MS.flatMap((delayMs) =>
  (Object.keys(victims) as (keyof typeof victims)[]).map((victim) => ({ delayMs, victim })),
);

describe('kill -9', () => {
  test.for(rounds)(
    'ends $victim $delayMs ms after 48 acknowledgements: each acknowledged or resent request is stored once, and the audit chain is valid',
    async ({ delayMs, victim }) => {
      const callers = new Callers({ url: server.url, key }, CALLERS);
      const acknowledgedMin = CALLERS * 3;
      await until('the callers are sending', () => callers.acknowledged.length >= acknowledgedMin);
      await sleep(delayMs);
      killAll(...victims[victim]().map((pid) => ({ pid })));

      if (victim === 'the database') {
        // On a busy machine, PostgreSQL's other processes can commit for a while after the postmaster was killed.
        await until('the server has lost the database', () => callers.unavailableCount > 0);
        const acknowledgedBefore = callers.acknowledged.length;
        await until(
          'the running server has recovered',
          () => callers.acknowledged.length >= acknowledgedBefore + acknowledgedMin,
        );
        expect(server.hasEnded).toBe(false);
        await callers.stop();
      } else {
        await callers.stop();
        expect(await server.ended).toBe('SIGKILL');
        server = await ServerProcess.start(folder.environment);
      }
      expect([...callers.unexpectedResponses, ...server.errorLogLines]).toEqual([]);
      acknowledged.push(...callers.acknowledged);

      const toResend = callers.unconfirmed.filter(({ kind }) => kind !== 'promotionCheck');
      for (const request of toResend) {
        const first = await send({ url: server.url, key }, request);
        const second = await send({ url: server.url, key }, request);
        expect([first.status, second.status, second.isReplay, second.body]).toEqual([200, 200, true, first.body]);
        acknowledged.push({ ...request, responseBody: first.body, ledgerSeq: first.ledgerSeq });
      }
      await expectAllKept();
    },
  );
});
