import { memberOf, objectOf } from './parse-results.ts';
import { readZipEntry } from './zip-entry.ts';

/** The largest file of reductions in an archive, in bytes. It contains a value and an answer for each sample. */
const REDUCTIONS_BYTES_MAX = 256 * 1024 * 1024;

/** The scorer and the reducer of a metric, as `results.scores` and the reductions name them. */
export interface ReductionKey {
  scorer: unknown;
  reducer: unknown;
}

/** The reductions of an `.eval` archive: the value of each scored sample over its epochs. Undefined if the archive has none. */
export function archivedReductions(archive: Uint8Array): unknown {
  const bytes = readZipEntry(archive, 'reductions.json', REDUCTIONS_BYTES_MAX);
  if (bytes === undefined) return undefined;
  const list = Buffer.concat([Buffer.from('{"list":'), bytes, Buffer.from('}')]);
  return objectOf('inspect_ai', list).list;
}

/** The number of samples that a scorer has scored. Undefined if the reductions do not contain the scorer. */
export function countReduced(reductions: unknown, key: ReductionKey): number | undefined {
  if (!Array.isArray(reductions)) return undefined;
  const reduction = reductions.find((each) => isSame(each, key, 'scorer') && isSame(each, key, 'reducer'));
  const samples = memberOf(reduction, 'samples');
  return Array.isArray(samples) ? samples.filter((each) => memberOf(each, 'value') != null).length : undefined;
}

const isSame = (reduction: unknown, key: ReductionKey, name: keyof ReductionKey): boolean =>
  (memberOf(reduction, name) ?? null) === (key[name] ?? null);
