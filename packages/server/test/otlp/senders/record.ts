import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { modelServer } from './model-server.ts';
import { CONTENT_SETTINGS, NODE_PACKAGES, PYTHON_PACKAGES, PYTHON_PACKAGES_ALONE } from './versions.ts';

/**
 * Records the exports of real instrumentations: `sh scripts/run.sh packages/server/test/otlp/senders/record.ts [NAME ...]`. It
 * installs the pinned packages in a temporary folder, runs each program of this folder against a stub of the model, and writes
 * the exports to `../recorded`, where the tests replay them.
 * Needs npm, python3 and their registries; `npm test` does not run it.
 */
const here = fileURLToPath(new URL('./', import.meta.url));
const recorded = fileURLToPath(new URL('../recorded/', import.meta.url));
const folder = join(tmpdir(), 'countersign-otlp-senders');
const chosen = process.argv.slice(2);

/** One export as sent, with its body in Base64. */
interface RecordedExport {
  path: string;
  contentType: string;
  body: string;
}

function installNode(): string {
  const home = join(folder, 'js');
  mkdirSync(home, { recursive: true });
  for (const file of readdirSync(`${here}js`)) copyFileSync(`${here}js/${file}`, join(home, file));
  writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, dependencies: NODE_PACKAGES }));
  run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], home);
  return home;
}

/** Installs the packages of a program, or the shared ones. Returns the interpreter. */
function installPython(name: string): string {
  const alone = PYTHON_PACKAGES_ALONE[name];
  const home = join(folder, alone === undefined ? 'python' : name);
  mkdirSync(home, { recursive: true });
  run('python3', ['-m', 'venv', 'venv'], home);
  const packages = Object.entries(alone ?? PYTHON_PACKAGES).map(([name, version]) => `${name}==${version}`);
  run(join(home, 'venv/bin/pip'), ['install', '--quiet', ...packages], home);
  return join(home, 'venv/bin/python');
}

function run(command: string, args: readonly string[], cwd: string): void {
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`);
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function record(
  name: string,
  command: string,
  file: string,
  model: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  const exports: RecordedExport[] = [];
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const sent = Buffer.concat(chunks);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
      exports.push({ path: request.url!, contentType: request.headers['content-type']!, body: body.toString('base64') });
      response.writeHead(200, { 'content-type': request.headers['content-type'] }).end();
    });
  });
  const environment = {
    ...process.env,
    OTEL_EXPORTER_OTLP_ENDPOINT: await listen(receiver),
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'otlp',
    OTEL_SERVICE_NAME: 'senders',
    OTEL_NODE_RESOURCE_DETECTORS: 'none',
    OTEL_SEMCONV_STABILITY_OPT_IN: 'gen_ai_latest_experimental',
    // The Python instrumentation expects a destination for content instead of true: here log records.
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: file.endsWith('.py') ? 'EVENT_ONLY' : 'true',
    TRACELOOP_TRACE_CONTENT: 'true',
    TRACELOOP_TELEMETRY: 'false',
    CREWAI_DISABLE_TELEMETRY: 'true',
    CREWAI_TRACING_ENABLED: 'false',
    OPENAI_API_KEY: 'none',
    ANTHROPIC_API_KEY: 'none',
    OPENAI_BASE_URL: `${model}/v1`,
    OPENAI_API_BASE: `${model}/v1`,
    ANTHROPIC_BASE_URL: model,
    ...settings,
  };
  const sender = spawn(command, [file], { env: environment, stdio: ['ignore', 'inherit', 'inherit'] });
  const status = await new Promise((resolve) => sender.once('exit', resolve));
  receiver.close();
  receiver.closeAllConnections();
  process.stderr.write(`${name}: ended with ${status}, ${exports.length} exports\n`);
  if (exports.length > 0) writeFileSync(`${recorded}${name}.json`, `${JSON.stringify(exports, null, 2)}\n`);
}

const model = modelServer();
const modelAddress = await listen(model);
mkdirSync(recorded, { recursive: true });
const isSelected = (name: string) => chosen.length === 0 || chosen.includes(name);
const names = (part: string, ending: string) =>
  readdirSync(here + part).filter(
    (file) => file.endsWith(ending) && !file.startsWith('agent') && isSelected(file.slice(0, -ending.length)),
  );
const [javascript, python] = [names('js', '.cjs'), names('python', '.py')];
if (javascript.length > 0) {
  const home = installNode();
  for (const file of javascript) await record(file.slice(0, -'.cjs'.length), process.execPath, join(home, file), modelAddress);
}
for (const file of python) {
  const name = file.slice(0, -'.py'.length);
  await record(name, installPython(name), `${here}python/${file}`, modelAddress);
}
for (const [name, { program, environment }] of Object.entries(CONTENT_SETTINGS)) {
  if (isSelected(name)) await record(name, installPython(program), `${here}python/${program}.py`, modelAddress, environment);
}
model.close();
model.closeAllConnections();
