import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COLLECTOR_MODULES, COLLECTOR_VERSION, ISOLATED_PYTHON_PACKAGES, NODE_PACKAGES, PYTHON_PACKAGES } from './versions.ts';

const sendersFolder = fileURLToPath(new URL('./', import.meta.url));
const folder = join(tmpdir(), 'countersign-otlp-senders');

/** A program of this folder, and the command that runs it. */
export interface SenderProgram {
  command: string;
  file: string;
}

/** The names of the programs, without file extensions. */
export const PROGRAMS = { js: programNames('js', '.cjs'), python: programNames('python', '.py') };

function programNames(language: string, extension: string): string[] {
  const files = readdirSync(sendersFolder + language).filter((file) => file.endsWith(extension) && !file.startsWith('agent'));
  return files.map((file) => file.slice(0, -extension.length));
}

let nodeHome: string | undefined;

/** Installs what a program needs, and returns how to run it. */
export function installProgram(name: string): SenderProgram {
  if (PROGRAMS.python.includes(name)) return { command: installPython(name), file: `${sendersFolder}python/${name}.py` };
  nodeHome ??= installNode();
  return { command: process.execPath, file: join(nodeHome, `${name}.cjs`) };
}

function installNode(): string {
  const home = join(folder, 'js');
  mkdirSync(home, { recursive: true });
  for (const file of readdirSync(`${sendersFolder}js`)) copyFileSync(`${sendersFolder}js/${file}`, join(home, file));
  writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, dependencies: NODE_PACKAGES }));
  run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], home);
  return home;
}

/** Installs the isolated packages of a program if it has any, otherwise the shared packages. Returns the path of the interpreter. */
function installPython(name: string): string {
  const isolated = ISOLATED_PYTHON_PACKAGES[name];
  const home = join(folder, isolated === undefined ? 'python' : name);
  mkdirSync(home, { recursive: true });
  run('python3', ['-m', 'venv', 'venv'], home);
  const packages = Object.entries(isolated ?? PYTHON_PACKAGES).map(([name, version]) => `${name}==${version}`);
  run(join(home, 'venv/bin/pip'), ['install', '--quiet', ...packages], home);
  return join(home, 'venv/bin/python');
}

/** Builds the OpenTelemetry Collector with the components of versions.ts, if it does not exist yet. Returns its path. Needs Go. */
export function buildCollector(): string {
  const home = join(folder, `collector-${COLLECTOR_VERSION}`);
  const program = join(home, 'built/otelcol');
  if (existsSync(program)) return program;
  mkdirSync(home, { recursive: true });
  const sections = Object.entries(COLLECTOR_MODULES).map(([section, modules]) => {
    const lines = Object.entries(modules).map(
      ([module, version]) => `  - gomod: go.opentelemetry.io/collector/${module} ${version}\n`,
    );
    return `${section}:\n${lines.join('')}`;
  });
  writeFileSync(join(home, 'builder.yaml'), `dist:\n  name: otelcol\n  output_path: ./built\n${sections.join('')}`);
  run('go', ['run', `go.opentelemetry.io/collector/cmd/builder@${COLLECTOR_VERSION}`, '--config', 'builder.yaml'], home);
  return program;
}

function run(command: string, args: readonly string[], cwd: string): void {
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`);
}
