import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FAKES } from '../packages/client/test/fixtures/model-clients.ts';
import { snippets } from '../packages/client/test/fixtures/snippets.ts';
import { type TestServer, testServer } from '../packages/server/test/harness/test-server.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../', import.meta.url));
let server: TestServer;
let folder: string;
let archive: string;
let installed: string;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-packed-client-'));
  await run('npm', ['pack', '--workspace', 'packages/client', '--pack-destination', folder], { cwd: root });
  archive = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz'))!);
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  await run('npm', ['install', '--no-audit', '--no-fund', '--offline', archive], { cwd: folder });
  installed = join(folder, 'node_modules/@countersign/client');
  server = await testServer();
  const apiKey = await server.key(await server.workspace());
  environment = { PATH: process.env.PATH, HOME: folder, COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: apiKey };
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const node = async (path: string) => (await run(process.execPath, [path], { cwd: folder, env: environment })).stdout.trim();

/** A program that uses the client, without the import of the client. It is valid in ES modules and in CommonJS. */
const PROGRAM_BODY = `
const countersign = new Countersign({ baseUrl: process.env.COUNTERSIGN_URL, apiKey: process.env.COUNTERSIGN_API_KEY });
async function main() {
  await countersign.evaluations.record({ name: 'nightly', agent_name: 'bot', pass_rate: 92.5 });
  const { allowed } = await countersign.governance.checkPromotion({ agent_name: 'bot' });
  const refused = await countersign.audit.append({ actor: '' }).catch((error) => error instanceof ValidationError);
  const spans = await countersign.traces.run({ agent_name: 'bot' }, async () => countersign.traces.span({ kind: 'llm', name: 'x' }, () => 1));
  for (let i = 0; i < 300; i += 1) countersign.telemetry.emit({ trace_id: 'run-' + i, outcome: 'success' });
  await countersign.close();
  console.log(JSON.stringify({ allowed, refused, spans, ...countersign.telemetry.stats }));
}
main();
`;
const EXPECTED_OUTPUT = '{"allowed":true,"refused":true,"spans":1,"queued":0,"sent":300,"rejected":0,"dropped":0}';
const ESM_PROGRAM = `import { Countersign, ValidationError } from '@countersign/client';${PROGRAM_BODY}`;

describe('packed client', () => {
  test('contains built JavaScript, declarations, README and licenses, and has no dependencies', () => {
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' });
    expect(files).toEqual(
      expect.arrayContaining([
        'README.md',
        'LICENSE',
        'THIRD-PARTY-LICENSES',
        'dist/esm/index.js',
        'dist/esm/index.d.ts',
        'dist/cjs/index.js',
      ]),
    );
    expect(files.filter((file) => /(?<!\.d)\.ts$|^test|tsconfig|scripts/.test(file))).toEqual([]);
    const { dependencies, peerDependencies, optionalDependencies } = JSON.parse(
      readFileSync(join(installed, 'package.json'), 'utf8'),
    );
    expect([dependencies, peerDependencies, optionalDependencies]).toEqual([undefined, undefined, undefined]);
    expect(readdirSync(join(folder, 'node_modules'))).toEqual(expect.not.arrayContaining(['typebox']));
  });

  test('has bundles without imports and without the schema library, each under 245,000 characters', () => {
    for (const format of ['esm', 'cjs']) {
      const text = readFileSync(join(installed, `dist/${format}/index.js`), 'utf8');
      expect(text).not.toMatch(/^import |\brequire\(|typebox|\$id/m);
      expect(text.length).toBeLessThan(245_000);
    }
  });

  test('contains a working command countersign: one file that imports only Node modules', async () => {
    const text = readFileSync(join(installed, 'dist/cli/main.js'), 'utf8');
    const imported = [...text.matchAll(/^import .*? from "([^"]+)";$/gm)].map(([, specifier]) => specifier!);
    expect(imported.filter((specifier) => !/^(node:)?[a-z_/]+$/.test(specifier))).toEqual([]);
    expect(readdirSync(join(installed, 'dist/cli'))).toEqual(['main.js']);
    const countersign = (...args: string[]) =>
      run(join(folder, 'node_modules/.bin/countersign'), args, { cwd: folder, env: environment });
    await countersign('evaluate', 'record', '--agent', 'packed', '--name', 'nightly', '--pass-rate', '99');
    expect((await countersign('gate', '--agent', 'packed', '--min-pass-rate', '90')).stdout).toContain('ALLOWED');
    await expect(countersign('gate', '--agent', 'packed', '--min-pass-rate', '100')).rejects.toMatchObject({ code: 1 });
  });

  test('runs as an ES module', async () => expect(await node(write('host.mjs', ESM_PROGRAM))).toBe(EXPECTED_OUTPUT));

  test('runs with require', async () => {
    const path = write('host.cjs', `const { Countersign, ValidationError } = require('@countersign/client');${PROGRAM_BODY}`);
    expect(await node(path)).toBe(EXPECTED_OUTPUT);
  });

  test.each(['esm', 'cjs'] as const)('runs when bundled as %s for any platform', async (format) => {
    const outfile = join(folder, `bundled.${format === 'esm' ? 'mjs' : 'cjs'}`);
    const entry = write('bundled-host.js', ESM_PROGRAM);
    const { warnings } = await build({
      entryPoints: [entry],
      outfile,
      bundle: true,
      format,
      platform: 'neutral',
      logLevel: 'silent',
    });
    expect(warnings).toEqual([]);
    expect(await node(outfile)).toBe(EXPECTED_OUTPUT);
  });

  test('has types that compile in strict mode for ES modules, CommonJS and bundlers, with and without Node types', async () => {
    const [prelude, ...blocks] = snippets();
    for (const [name, source] of Object.entries(FAKES)) {
      const home = join(folder, 'fakes', name);
      mkdirSync(home, { recursive: true });
      writeFileSync(join(home, 'index.mts'), source);
    }
    const sources = blocks.map(({ code }, index) =>
      write(`snippet-${index}.mts`, code.includes('new Countersign(') ? code : `${prelude!.code}\n${code}`),
    );
    const plain = write('plain.mts', TYPES_PROGRAM);
    const required = write(
      'required.cts',
      `import { Countersign } from '@countersign/client';\nexport const make = (): Countersign => new Countersign({ baseUrl: 'https://x.example', apiKey: 'k' });\n`,
    );
    const projects: [string, object, string[]][] = [
      ['node', { module: 'nodenext', types: ['node'], lib: ['es2024'] }, [...sources, required]],
      ['web', { module: 'nodenext', types: [], lib: ['es2022', 'dom', 'dom.iterable'] }, [plain, required]],
      ['bundler', { module: 'esnext', moduleResolution: 'bundler', types: [], lib: ['es2022', 'webworker'] }, [plain]],
    ];
    for (const [name, options, files] of projects) {
      const compilerOptions = {
        ...options,
        target: 'es2022',
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: false,
        noEmit: true,
        typeRoots: [join(root, 'node_modules/@types')],
        paths: Object.fromEntries(Object.keys(FAKES).map((fake) => [fake, [`./fakes/${fake}/index.mts`]])),
      };
      const project = write(`tsconfig.${name}.json`, JSON.stringify({ compilerOptions, files }));
      const { stdout } = await run(join(root, 'node_modules/typescript/bin/tsc'), ['-p', project]).catch((error) => error);
      expect(`${name}: ${stdout}`).toBe(`${name}: `);
    }
  }, 60_000);

  test('has types that compile with the oldest TypeScript that README and package.json allow', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'node_modules/typescript-5-2/package.json'), 'utf8'));
    const [oldest] = /^\d+\.\d+/.exec(version)!;
    expect(JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')).engines.typescript).toBe(`>=${oldest}`);
    expect(readFileSync(join(installed, 'README.md'), 'utf8')).toContain(`TypeScript ${oldest} or later`);
    const plain = write('plain-5-2.mts', TYPES_PROGRAM);
    for (const library of ['dom', 'webworker']) {
      const compilerOptions = {
        ...{ module: 'nodenext', target: 'es2022', lib: ['es2022', library], types: [], noEmit: true },
        ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false },
      };
      const project = write(`tsconfig.5-2-${library}.json`, JSON.stringify({ compilerOptions, files: [plain] }));
      const compiler = join(root, 'node_modules/typescript-5-2/bin/tsc');
      const { stdout } = await run(process.execPath, [compiler, '-p', project]).catch((error) => error);
      expect(`${library}: ${stdout}`).toBe(`${library}: `);
    }
  }, 60_000);

  test('passes publint', async () => {
    const { messages, pkg } = await publint({ pkgDir: installed, pack: false, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg!))).toEqual([]);
  });

  test('passes are-the-types-wrong for every module resolution', async () => {
    const { stdout } = await run(join(root, 'node_modules/.bin/attw'), [archive, '--format', 'json']).catch((error) => error);
    const { analysis, problems } = JSON.parse(stdout);
    expect(problems).toEqual({});
    expect(analysis.types.kind).toBe('included');
  }, 60_000);
});

/** A program that is compiled and not run, with valid uses and expected type errors. */
const TYPES_PROGRAM = `
import { Countersign, receiptOf, type PromotionDecision, type TelemetryEvent } from '@countersign/client';
await using countersign = new Countersign({ baseUrl: new URL('https://x.example'), apiKey: async () => 'k', fetch });
const event: TelemetryEvent = { trace_id: 'a', outcome: 'success', latency_ms: undefined, messages: [{ role: 'user', content: null }] };
const queued: boolean = countersign.telemetry.emit(event);
const decision: PromotionDecision = await countersign.governance.checkPromotion({ agent_name: 'bot' }, { signal: AbortSignal.timeout(5) });
const rate: number | null | undefined = decision.evaluation.pass_rate;
const name: string | undefined = decision.evaluation.id === undefined ? undefined : decision.evaluation.name;
// @ts-expect-error there may be no evaluation
const certain: string = decision.evaluation.name;
// @ts-expect-error the agent is required
await countersign.governance.checkPromotion({});
const id: string | undefined = receiptOf(decision)?.requestId;
const nested: Promise<number> = countersign.traces.run({ agent_name: 'bot' }, async (run) => run.span({ kind: 'llm', name: 'x' }, () => 1));
// @ts-expect-error the outcome is required
countersign.telemetry.emit({ trace_id: 'a' });
// @ts-expect-error no such status
await countersign.evaluations.record({ name: 'x', status: 'good' });
export { certain, id, name, nested, queued, rate };
`;
