/**
 * Records the exports of real instrumentations: `sh scripts/run.sh packages/server/test/otlp/senders/record.ts [NAME ...]`. The script
 * installs the pinned packages in a temporary folder, and runs the programs of the named recordings against a stub of the model; without
 * NAME it makes all recordings. Some programs export through a Collector. The exports are written to `../recorded`, and the tests replay
 * them. Needs npm, python3, Go and their registries; `npm test` does not run it.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startCollector } from './collector.ts';
import { installProgram, PROGRAMS } from './install.ts';
import { createRecordingReceiver, type RecordedExport } from './recording-receiver.ts';
import { listen, runSender, startModel, stop } from './sender-process.ts';
import { COLLECTED_PROGRAMS, CONTENT_SETTINGS } from './versions.ts';

const recordedFolder = fileURLToPath(new URL('../recorded/', import.meta.url));

/** A recording: its program, its environment variables, and whether the program exports through a Collector. */
interface Recording {
  program: string;
  environment?: Readonly<Record<string, string>>;
  isCollected?: boolean;
}

const RECORDINGS: Readonly<Record<string, Recording>> = {
  ...Object.fromEntries([...PROGRAMS.js, ...PROGRAMS.python].map((program) => [program, { program }])),
  ...CONTENT_SETTINGS,
  ...Object.fromEntries(Object.entries(COLLECTED_PROGRAMS).map(([name, each]) => [name, { ...each, isCollected: true }])),
};

async function record(name: string, { program, environment = {}, isCollected = false }: Recording, model: string): Promise<void> {
  const exports: RecordedExport[] = [];
  const receiver = createRecordingReceiver(exports);
  const address = await listen(receiver);
  const collector = isCollected ? await startCollector(address, 'none') : undefined;
  const endpoint = environment.OTEL_EXPORTER_OTLP_PROTOCOL === 'grpc' ? collector?.grpc : collector?.http;
  const settings = { ...environment, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint ?? address };
  const status = await runSender(installProgram(program), model, settings);
  await collector?.stop();
  stop(receiver);
  process.stderr.write(`${name}: ended with ${status}, ${exports.length} exports\n`);
  if (exports.length > 0) writeFileSync(`${recordedFolder}${name}.json`, `${JSON.stringify(exports, null, 2)}\n`);
}

const chosenNames = process.argv.slice(2);
const model = await startModel();
mkdirSync(recordedFolder, { recursive: true });
for (const [name, recording] of Object.entries(RECORDINGS)) {
  if (chosenNames.length === 0 || chosenNames.includes(name)) await record(name, recording, model.url);
}
model.stop();
