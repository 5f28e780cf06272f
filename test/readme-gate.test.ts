import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DataFolder, ServerProcess } from '../packages/server/test/fixtures/server-process.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../', import.meta.url));

/** The shell blocks of README.md that follow a comment `<!-- gate: NAME -->`, in the order of the page, each with its NAME. */
const blocks = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/<!-- gate: ([^>]*?) -->\n```sh\n([\s\S]*?)```/g)].map(
  ([, name, script]) => ({ name: name!, script: script! }),
);

let data: DataFolder;
let server: ServerProcess;
beforeAll(async () => {
  data = new DataFolder();
  server = await ServerProcess.start(data.environment);
}, 240_000);
afterAll(async () => {
  await server.end('SIGTERM');
  await data.clear();
});

describe('README: block a deploy in five minutes', () => {
  test('each block of commands ends with the expected status when all blocks run in order', async () => {
    expect(blocks.map(({ name }) => name)).toEqual(['set up', 'ends with 1', 'record', 'ends with 0', 'ends with 4']);
    const workspace = join(dirname(data.path), 'deploy');
    mkdirSync(workspace);
    const script = blocks.map(({ name, script: text }) => `( exit 0 )\n${text}status=$?\necho "[${name}] $status"`).join('\n');
    const adaptedScript = script
      .replaceAll('http://127.0.0.1:7300', server.url)
      .replaceAll(/\bbin\/countersign/g, `${root}bin/countersign`);
    const env = { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, ...data.environment };
    const { stdout, stderr } = await run('sh', ['-c', adaptedScript], { cwd: workspace, env });
    const statuses = [...stdout.matchAll(/^\[(.*)\] (\d+)$/gm)].map(([, name, status]) => [name, Number(status)]);
    expect({ statuses, stderr }).toEqual({
      statuses: [
        ['set up', 0],
        ['ends with 1', 1],
        ['record', 0],
        ['ends with 0', 0],
        ['ends with 4', 4],
      ],
      stderr: expect.not.stringContaining('countersign:'),
    });
    expect(stdout).toContain('verified by the public key of the instance');
    expect(JSON.parse(readFileSync(join(workspace, 'decision.json'), 'utf8'))).toMatchObject({ allowed: true });
  }, 300_000);
});
