import { type Completeness, isCount } from './imported-evaluation.ts';
import { isObject, type Members, memberOf, wrongFormatError } from './parse-results.ts';

/** How much of a configuration ran. `why` gives the reason if the run is partial; otherwise it is empty. */
interface Finding {
  completeness: Completeness;
  why: string;
}

/**
 * Whether an evaluation ran all tests of its configuration. It is partial if there are fewer results (`count`) than the product of prompts,
 * providers, variables and repeats. It is complete if the numbers are equal and all tests, prompts and providers are in the configuration.
 * Otherwise it is partial if the options name a filter, and unknown without a filter.
 */
export function promptfooCompleteness(file: Members, count: number): Finding {
  const config = isObject(file.config) ? file.config : {};
  const repeat = repeatOf(file, config);
  const rows = rowsOf(config);
  const minimum = rows === undefined ? undefined : rows * repeat * minimumOf(config.prompts) * minimumOf(config.providers);
  if (minimum !== undefined && count < minimum)
    return {
      completeness: 'partial',
      why: `it has ${count} results, but its tests, prompts and providers give at least ${minimum}`,
    };
  const columns = memberOf(memberOf(file, 'results'), 'prompts');
  const isWhole = Array.isArray(columns) && isInline(config.prompts) && areNamed(config.providers);
  if (minimum !== undefined && isWhole && count === minimum && columns.length * rows! * repeat === minimum)
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

/** Whether an option has a value. */
export const isSet = (value: unknown): boolean => value != null && value !== '' && !(Array.isArray(value) && value.length === 0);

function repeatOf(file: Members, config: Members): number {
  const repeat = [file.runtimeOptions, config.commandLineOptions, config.evaluateOptions]
    .map((options) => memberOf(options, 'repeat'))
    .find((value) => isCount(value) && value > 0);
  return (repeat as number | undefined) ?? 1;
}

/** The number of rows that the tests expand to; undefined if some tests are outside the configuration or cannot be counted. */
function rowsOf({ tests, scenarios, defaultTest = {} }: Members): number | undefined {
  if (!Array.isArray(tests) || tests.length === 0 || isSet(scenarios) || !isObject(defaultTest)) return undefined;
  const rows = tests.map((test) => rowsOfTest(test, defaultTest));
  return rows.some((each) => each === undefined) ? undefined : (rows as number[]).reduce((sum, each) => sum + each, 0);
}

function rowsOfTest(test: unknown, defaults: Members): number | undefined {
  if (!isObject(test) || isUncertain(test) || isUncertain(defaults)) return undefined;
  const [vars, defaultVars] = [test.vars ?? {}, defaults.vars ?? {}];
  if (!isObject(vars) || !isObject(defaultVars)) return undefined;
  const variables = { ...defaultVars, ...vars };
  if (Object.values(variables).some((value) => typeof value === 'string' && value.startsWith('file://'))) return undefined;
  const isExpansionDisabled = [test, defaults].some(({ options }) => memberOf(options, 'disableVarExpansion') === true);
  if (isExpansionDisabled) return 1;
  // A list of texts gives a row for each text. Any other list counts as one value.
  return Object.values(variables).reduce<number>(
    (product, value) => product * (Array.isArray(value) && typeof value[0] === 'string' ? value.length : 1),
    1,
  );
}

/** Whether the number of rows is unknown: the test is a generator or a reference, or has its own prompts, providers or repeats. */
const isUncertain = (test: Members): boolean =>
  ['prompts', 'providers', 'path', '$ref'].some((name) => test[name] != null) ||
  [memberOf(test.options, 'repeat'), memberOf(test.options, 'prompts')].some((value) => value != null);

/** The minimum number of prompts or providers. There may be more, because a file can contain several. */
function minimumOf(list: unknown): number {
  if (!Array.isArray(list)) return 1;
  const hasOwnPrompts = list.some((each) => isObject(each) && Object.values({ ...each }).some((value) => hasPrompts(value)));
  return hasOwnPrompts ? 1 : Math.max(1, new Set(list.map(jsonOf)).size);
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw wrongFormatError('promptfoo', 'its prompts or providers are nested too deeply', error);
  }
}

/** Whether a provider lists its own prompts. It then runs only with these prompts. */
const hasPrompts = (value: unknown): boolean => Array.isArray(value) || memberOf(value, 'prompts') != null;

/** Whether every prompt is a text and none is a file. */
const isInline = (prompts: unknown): boolean =>
  Array.isArray(prompts) &&
  prompts.every((each) => typeof each === 'string' && /\s/.test(each) && !/^\w+:|[*]|\.\w{1,5}(:\w+)?$/.test(each));

/** Whether every provider is given by its name and none by a file. */
const areNamed = (providers: unknown): boolean =>
  Array.isArray(providers) && providers.every((each) => typeof each === 'string' && !each.startsWith('file://'));
