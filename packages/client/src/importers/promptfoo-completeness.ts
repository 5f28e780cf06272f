import { type Completeness, isCount } from './imported-evaluation.ts';
import { isObject, type Members, memberOf } from './parse-results.ts';

/** How much of a configuration ran, and the evidence. */
interface Finding {
  completeness: Completeness;
  why: string;
}

/**
 * Whether an evaluation ran all tests of its configuration. It is partial if the options name a filter, or if there are fewer results
 * (`count`) than prompts, providers, variables and repeats multiply to. Tests in other files cannot be counted.
 */
export function promptfooCompleteness(file: Members, count: number): Finding {
  const config = isObject(file.config) ? file.config : {};
  const repeat = repeatOf(file, config);
  const rows = rowsOf(config);
  const least = rows === undefined ? undefined : rows * repeat * leastOf(config.prompts) * leastOf(config.providers);
  if (least !== undefined && count < least)
    return { completeness: 'partial', why: `${count} results, where its tests, prompts and providers give ${least}` };
  const columns = memberOf(memberOf(file, 'results'), 'prompts');
  const isWhole = Array.isArray(columns) && isInline(config.prompts) && areNamed(config.providers);
  if (least !== undefined && isWhole && count === least && columns.length * rows! * repeat === least)
    return { completeness: 'complete', why: '' };
  const filter = filterOf(file, config);
  return filter === undefined
    ? { completeness: 'unknown', why: '' }
    : { completeness: 'partial', why: `it was run with ${filter}` };
}

/** The first filter in the options of the run. */
function filterOf(file: Members, config: Members): string | undefined {
  for (const options of [file.runtimeOptions, config.commandLineOptions, config.evaluateOptions]) {
    if (!isObject(options)) continue;
    const name = Object.keys(options).find((key) => /^(filter[A-Z]|providerFilter)/.test(key) && isSet(options[key]));
    if (name !== undefined) return name;
  }
  return undefined;
}

const isSet = (value: unknown): boolean => value != null && value !== '' && !(Array.isArray(value) && value.length === 0);

function repeatOf(file: Members, config: Members): number {
  const found = [file.runtimeOptions, config.commandLineOptions, config.evaluateOptions]
    .map((options) => memberOf(options, 'repeat'))
    .find((value) => isCount(value) && value > 0);
  return (found as number | undefined) ?? 1;
}

/** The number of rows that the tests expand to; undefined if they are not all in the configuration. */
function rowsOf({ tests, scenarios, defaultTest = {} }: Members): number | undefined {
  if (!Array.isArray(tests) || tests.length === 0 || scenarios != null || !isObject(defaultTest)) return undefined;
  const rows = tests.map((test) => rowsOfTest(test, defaultTest));
  return rows.some((each) => each === undefined) ? undefined : (rows as number[]).reduce((sum, each) => sum + each, 0);
}

function rowsOfTest(test: unknown, defaults: Members): number | undefined {
  if (!isObject(test) || isUncertain(test) || isUncertain(defaults)) return undefined;
  const [vars, usual] = [test.vars ?? {}, defaults.vars ?? {}];
  if (!isObject(vars) || !isObject(usual)) return undefined;
  const all = { ...usual, ...vars };
  if (Object.values(all).some((value) => typeof value === 'string' && value.startsWith('file://'))) return undefined;
  const areKept = [test, defaults].some(({ options }) => memberOf(options, 'disableVarExpansion') === true);
  if (areKept) return 1;
  // A list of texts makes a row for each of them; any other list is one value.
  return Object.values(all).reduce<number>(
    (product, value) => product * (Array.isArray(value) && typeof value[0] === 'string' ? value.length : 1),
    1,
  );
}

/** Whether the rows of a test are unknown: it is a generator or a reference, or has its own prompts, providers or repeats. */
const isUncertain = (test: Members): boolean =>
  ['prompts', 'providers', 'path', '$ref'].some((name) => test[name] != null) ||
  [memberOf(test.options, 'repeat'), memberOf(test.options, 'prompts')].some((value) => value != null);

/** The minimum number of prompts or providers: a file may contain several. */
function leastOf(list: unknown): number {
  if (!Array.isArray(list)) return 1;
  const limited = list.some((each) => isObject(each) && Object.values({ ...each }).some((value) => hasPrompts(value)));
  return limited ? 1 : Math.max(1, new Set(list.map((each) => JSON.stringify(each))).size);
}

/** Whether a provider names its prompts, so that it does not run with every prompt. */
const hasPrompts = (value: unknown): boolean => Array.isArray(value) || memberOf(value, 'prompts') != null;

/** Whether every prompt is a text and none is a file. */
const isInline = (prompts: unknown): boolean =>
  Array.isArray(prompts) &&
  prompts.every((each) => typeof each === 'string' && /\s/.test(each) && !/^\w+:|[*]|\.\w{1,5}(:\w+)?$/.test(each));

const areNamed = (providers: unknown): boolean =>
  Array.isArray(providers) && providers.every((each) => typeof each === 'string' && !each.startsWith('file://'));
