/**
 * Runs the named trials of an OpenTelemetry Collector with a real server, or all trials:
 * `sh scripts/run.sh packages/server/test/otlp/senders/try-collector.ts [NAME ...]`. Prints what was observed, and exits with 1 if a trial
 * failed. Needs the same programs as record.ts; `npm test` does not run it.
 */
import { Target } from '../../../../../attack/target.ts';
import { COLLECTOR_TRIALS, runTrial } from './collector-trials.ts';
import { startModel } from './sender-process.ts';

const chosenNames = process.argv.slice(2);
const model = await startModel();
for (const [name, trial] of Object.entries(COLLECTOR_TRIALS)) {
  if (chosenNames.length > 0 && !chosenNames.includes(name)) continue;
  const target = await Target.start('127.0.0.1', trial.server);
  try {
    process.stdout.write(`${name} (${trial.what}): ${await runTrial(trial, target, model.url)}\n`);
  } catch (error) {
    process.exitCode = 1;
    process.stdout.write(`${name} (${trial.what}): FAILED ${(error as Error).message}\n`);
  } finally {
    await target.end();
  }
}
model.stop();
