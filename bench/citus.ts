/**
 * `npm run bench:citus` compares two servers: one on a database that Citus distributes over a coordinator and its workers, and one on an
 * ordinary database in the coordinator's PostgreSQL. Each round measures both. The command prints a table: rates, their ratios, and the
 * processor time of the coordinator per request on Citus. docs/scaling.md has results.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { SCOPES } from '@countersign/core/contract/scopes';
import { openDatabase } from '../packages/server/src/app/open-database.ts';
import { readConfig } from '../packages/server/src/config/config.ts';
import { migrate } from '../packages/server/src/database/migrate.ts';
import { createWorkspace } from '../packages/server/src/workspace/create-workspace.ts';
import { mintKey } from '../packages/server/src/workspace/ingestion-keys.ts';
import { createCitusDatabase, createRoles, OWNER, SERVER } from '../scripts/citus/databases.ts';
import { type CitusNode, openCitusNodes, runOnNode } from '../scripts/citus/nodes.ts';
import { evaluationBodies } from './bodies.ts';
import { type LoadRequest, postRequest, runLoad, sendAll } from './load.ts';
import { startServer } from './measured-server.ts';
import { processorMs } from './processor-time.ts';
import { median } from './rounds.ts';
import { loadRequestsOf } from './rows/requests.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    tenants: { type: 'string', default: '1,2,4' },
    connections: { type: 'string', default: '64' },
    shards: { type: 'string', default: '8' },
    only: { type: 'string', default: 'traces,audit,telemetry,promotion' },
    direct: { type: 'string', default: 'true' },
  },
});
const [seconds, rounds, connections] = [Number(values.seconds), Number(values.rounds), Number(values.connections)];
const TENANT_COUNTS = values.tenants.split(',').map(Number);
type Work = 'traces' | 'audit' | 'telemetry' | 'promotion';
const WORKS = values.only.split(',') as Work[];

const secrets = {
  COUNTERSIGN_MASTER_SECRET: randomBytes(32).toString('base64'),
  COUNTERSIGN_SIGNING_KEY: generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
};

/** A server process and the keys of its workspaces. */
interface Side {
  port: number;
  keys: readonly string[];
}

const cleanup = new AsyncDisposableStack();
try {
  const nodes = await openCitusNodes({ 'citus.shard_count': values.shards });
  cleanup.defer(() => nodes.stop());
  await createRoles(nodes);
  await createCitusDatabase(nodes, 'bench_citus');
  await runOnNode(nodes.coordinator, 'postgres', (client) => client.query(`CREATE DATABASE bench_plain OWNER ${OWNER}`));
  const plain = await startSide(nodes.coordinator, 'bench_plain', false);
  const citus = await startSide(nodes.coordinator, 'bench_citus', true);
  const print = (...cells: (string | number)[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`);
  process.stdout.write(
    `${availableParallelism()} cores, load ${loadavg()[0]!.toFixed(1)} at the start, ${values.shards} shards, ${connections} connections\n\n`,
  );
  print('work', 'workspaces', 'one PostgreSQL', 'Citus', 'ratio', 'all ratios', 'coordinator CPU per request');
  print('---', '---', '---', '---', '---', '---', '---');
  const coordinatorPid = nodes.pidOf(nodes.coordinator);
  // The processor time is unknown for nodes given in CITUS_NODES, which run elsewhere.
  const coordinatorMs = () => (coordinatorPid === undefined ? Number.NaN : processorMs(coordinatorPid));
  for (const work of WORKS)
    for (const tenants of TENANT_COUNTS) {
      const measured: { plain: number; citus: number; coordinatorMs: number }[] = [];
      for (let round = 0; round <= rounds; round += 1) {
        const rateOfPlain = await measureRate(plain, work, tenants);
        const startMs = coordinatorMs();
        const rateOfCitus = await measureRate(citus, work, tenants);
        const coordinatorMsPerRequest = (coordinatorMs() - startMs) / (rateOfCitus * seconds);
        measured.push({ plain: rateOfPlain, citus: rateOfCitus, coordinatorMs: coordinatorMsPerRequest });
      }
      const countedRounds = measured.slice(1); // the first round warms up
      const ratios = countedRounds.map((each) => each.citus / each.plain);
      const rateOf = (side: 'plain' | 'citus') => `${Math.round(median(countedRounds.map((each) => each[side])))}/s`;
      const msPerRequest = median(countedRounds.map((each) => each.coordinatorMs));
      print(
        work,
        tenants,
        rateOf('plain'),
        rateOf('citus'),
        median(ratios).toFixed(2),
        ratios.map((ratio) => ratio.toFixed(2)).join(' '),
        Number.isNaN(msPerRequest) ? '' : `${msPerRequest.toFixed(3)} ms`,
      );
    }
} finally {
  await cleanup.disposeAsync();
}

async function measureRate({ port, keys }: Side, work: Work, tenants: number): Promise<number> {
  const loadRequests: LoadRequest[] = keys.slice(0, tenants).flatMap((key) => loadRequestsOf({ key })[work]);
  return (await runLoad({ port, connections, seconds, loadRequests })).perSecond;
}

/** Fills an empty database with tables, workspaces, keys and evaluations, and starts a server on it. */
async function startSide({ host, port }: CitusNode, database: string, isCitus: boolean): Promise<Side> {
  await migrate({ host, port, user: OWNER, database }, { serverRole: SERVER, citus: isCitus });
  const environment = {
    ...secrets,
    DATABASE_URL: `postgres://${SERVER}@${host}:${port}/${database}`,
    COUNTERSIGN_PORT: '0',
    COUNTERSIGN_LOG_LEVEL: 'warn',
    COUNTERSIGN_DIRECT_WRITES: values.direct,
  };
  const open = await openDatabase(readConfig(environment), () => undefined, 'set-up');
  const keys: string[] = [];
  for (let number = 0; number < Math.max(...TENANT_COUNTS); number += 1) {
    const tenant = await createWorkspace(open.pool, `bench-${number}`);
    keys.push(await mintKey(open.pool, tenant, { name: 'bench', scopes: SCOPES, expiresAt: null }, 'operator'));
  }
  await open.close();
  const server = await startServer(environment, undefined);
  cleanup.defer(() => server.stop());
  for (const key of keys)
    await sendAll(
      server.port,
      evaluationBodies().map((body) => postRequest('/api/public/evaluations', key, body)),
    );
  return { port: server.port, keys };
}
