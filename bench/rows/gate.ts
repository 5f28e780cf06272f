import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { PASSING_AGENT } from '../bodies.ts';
import type { BenchEnvironment } from '../environment.ts';
import { median, percentile, type Row, rowOf } from '../rounds.ts';

/** The number of measured runs. Each starts the gate, then Node alone. */
const RUNS = 40;
/** The number of runs before the measured ones, to warm up the file cache. */
const WARM_UP_RUNS = 3;
/** The budget for the median time of a run in milliseconds. The time includes the start of Node. */
const BUDGET_MS = 400;

/** Measures `countersign gate` as a CI job runs it: a process from start to end, which verifies a signature with the public key. */
export async function gate({ port, key, tenantId }: BenchEnvironment): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-gate-'));
  try {
    const command = await bundleCommand(folder);
    const url = `http://127.0.0.1:${port}`;
    const jwks = await (await fetch(`${url}/.well-known/jwks.json`)).text();
    const env = { PATH: process.env.PATH, COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: key, COUNTERSIGN_VERIFY_KEY: jwks };
    const args = [command, 'gate', '--agent', PASSING_AGENT, '--workspace', tenantId, '--json'];
    const [times, nodeTimes]: number[][] = [[], []];
    for (let run = 0; run < WARM_UP_RUNS + RUNS; run += 1) {
      const [gateMs, nodeMs] = [await timeRun(args, env), await timeRun(['-e', '0'], env)];
      if (run >= WARM_UP_RUNS) {
        times!.push(gateMs);
        nodeTimes!.push(nodeMs);
      }
    }
    const rounds = times!.map((timeMs) => ({ rate: timeMs, limitRate: BUDGET_MS }));
    const title = {
      work: 'countersign gate, a whole process',
      limit: 'the budget',
      unit: 'ms',
      target: { required: 1, stretch: 0.5, isLowerBetter: true },
    };
    return [
      rowOf(title, rounds, `p95 ${percentile(times!, 0.95).toFixed(0)} ms; Node alone ${median(nodeTimes!).toFixed(0)} ms`),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Bundles the command into one file, as in the package. Returns its path. */
async function bundleCommand(folder: string): Promise<string> {
  const entry = fileURLToPath(new URL('../../packages/client/src/cli/main.ts', import.meta.url));
  const outfile = join(folder, 'main.mjs');
  await build({ entryPoints: [entry], outfile, bundle: true, format: 'esm', platform: 'node', target: 'es2022' });
  return outfile;
}

/** Runs Node and returns the milliseconds from its start to its end. Throws if the exit code is not 0. */
async function timeRun(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}`);
  return performance.now() - startedAt;
}
