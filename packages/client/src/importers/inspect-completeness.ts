import { type Completeness, isCount } from './imported-evaluation.ts';
import { type Members, memberOf } from './parse-results.ts';

/**
 * Whether a finished run used all samples of its dataset, and if not, why. `total_samples` counts each sample once per epoch.
 * `dataset.samples` is the size of the dataset, before `--limit` and `--sample-id`. A run with these options is partial
 * if this size is unknown.
 */
export function inspectCompleteness(spec: Members, results: Members): { completeness: Completeness; why: string } {
  const [total, logged] = [results.total_samples as number, results.logged_samples];
  const samples = memberOf(spec.dataset, 'samples');
  const epochs = epochsOf(spec);
  if (isCount(logged) && logged < total) return partial(`${logged} of ${total} planned samples were run`);
  if (results.early_stopping != null) return partial('it was stopped early');
  const option = limitingOption(spec);
  if (!isCount(samples) || samples === 0)
    return option === undefined
      ? { completeness: 'unknown', why: '' }
      : partial(`it was run with ${option}, and the log does not contain the size of the dataset`);
  if (total >= samples * epochs) return { completeness: 'complete', why: '' };
  return partial(
    `it ran ${total} of the ${samples * epochs} samples of its dataset` +
      `${epochs === 1 ? '' : ` in ${epochs} epochs`}${option === undefined ? '' : ` (${option})`}`,
  );
}

/** The number of times that each sample is run. */
export function epochsOf(spec: Members): number {
  const configured = memberOf(spec.config, 'epochs');
  return isCount(configured) && configured > 0 ? configured : 1;
}

const partial = (why: string) => ({ completeness: 'partial' as const, why });

/** The option that selected samples of the dataset. */
function limitingOption({ config }: Members): string | undefined {
  if (memberOf(config, 'limit') != null) return '--limit';
  return memberOf(config, 'sample_id') == null ? undefined : '--sample-id';
}
