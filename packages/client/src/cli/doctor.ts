import { SCOPES } from '@countersign/core/contract/scopes';
import { command } from './command.ts';
import { diagnoseScope } from './diagnose-key.ts';
import { type Diagnosis, diagnoseAddress, diagnoseClock } from './diagnose-service.ts';
import { diagnoseVerifyKey } from './diagnose-verify-key.ts';
import { CommandError } from './exit-codes.ts';
import { readDuration } from './option-values.ts';
import { CONNECTION, type Options } from './options.ts';
import { shortLine } from './plain-text.ts';
import type { ConnectionOptions, Session } from './session.ts';
import { hasKeys, readTrustSettings, requireWorkspace, TRUST, type TrustOptions, type TrustSettings } from './trust-settings.ts';

const OPTIONS = {
  ...CONNECTION,
  timeout: { type: 'string', value: 'TIME', help: 'time limit of each request, such as 500ms, 30s or 2m (default: 10s)' },
  scopes: {
    type: 'string',
    value: 'LIST',
    help: 'scopes that the key must have, such as governance,evaluations (default: governance)',
  },
  ...TRUST,
  'verify-key': {
    type: 'string',
    multiple: true,
    value: 'FILE',
    help: 'instead of --trust: file with the key that the gate verifies with',
  },
} as const satisfies Options;

/** `doctor`: checks the address, TLS, the keys, their scopes and the clock, and suggests remedies. Records nothing. */
export const doctor = command({
  name: 'doctor',
  summary: 'Check address, TLS, keys, scopes and clock, and suggest remedies. Records nothing.',
  options: OPTIONS,
  examples: ['countersign doctor', 'countersign doctor --scopes governance,evaluations'],
  async run(session, values) {
    const diagnoses = await runChecks(session, values, readScopes(values.scopes));
    const failures = diagnoses.filter(({ ok }) => ok === false);
    session.writeResult({ ok: failures.length === 0, findings: diagnoses }, diagnoses.flatMap(linesOf));
    return failures.length === 0 ? 'ok' : 'no';
  },
});

function readScopes(list = 'governance'): string[] {
  const scopes = list.split(',').map((scope) => scope.trim());
  const unknown = scopes.find((scope) => !(SCOPES as readonly string[]).includes(scope));
  if (unknown !== undefined)
    throw new CommandError('wrong_use', `--scopes takes a list of ${SCOPES.join(', ')}; got ${JSON.stringify(unknown)}`);
  return scopes;
}

type DoctorOptions = ConnectionOptions & TrustOptions;

const workspaceText = ({ workspace }: TrustSettings): string =>
  workspace === undefined ? '' : `; decisions must be of workspace ${workspace}`;

/** Runs the checks in order. A check that depends on a failed one is skipped. */
async function runChecks(session: Session, values: DoctorOptions, requiredScopes: readonly string[]): Promise<Diagnosis[]> {
  const timeoutMs = readDuration('--timeout', values.timeout ?? '10s');
  const results: Diagnosis[] = [];
  const address = await runCheck(
    'address',
    async () => session.address(values),
    (url) => url,
    results,
  );
  const key = await runCheck(
    'key',
    () => session.key(values),
    (text) => `${text.slice(0, 20)}… is a well-formed ingestion key`,
    results,
  );
  const trustSettings = await runCheck(
    'verify key',
    async () => {
      const settings = readTrustSettings(session, values);
      requireWorkspace(settings);
      return settings;
    },
    (settings) => (hasKeys(settings) ? `readable${workspaceText(settings)}` : 'none given: signatures are not checked'),
    results,
    (settings) => (hasKeys(settings) ? true : null),
  );
  if (address === undefined) return results;
  const service = await diagnoseAddress(session.terminal, address, { timeoutMs, insecureHttp: values['insecure-http'] === true });
  results.push(...service.diagnoses);
  if (service.response === undefined) return results;
  results.push(diagnoseClock(service.response));
  if (trustSettings !== undefined && hasKeys(trustSettings))
    results.push(await diagnoseVerifyKey(session, address, trustSettings, timeoutMs));
  if (key === undefined || !service.mayReceiveKey) return results;
  for (const scope of SCOPES)
    results.push(
      await diagnoseScope(session.terminal, address, key, { scope, isRequired: requiredScopes.includes(scope), timeoutMs }),
    );
  return results;
}

/**
 * Runs a check, adds its result to `results`, and returns its value. A check that throws a CommandError has failed, and the value is
 * undefined. The remedy is the part of the error's message after `; `. If there is none, it is in REMEDIES.
 */
async function runCheck<T>(
  what: string,
  check: () => Promise<T>,
  describe: (value: T) => string,
  results: Diagnosis[],
  outcomeOf: (value: T) => true | null = () => true,
): Promise<T | undefined> {
  try {
    const value = await check();
    results.push({ what, ok: outcomeOf(value), says: describe(value) });
    return value;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const [says, ...remedy] = error.message.split('; ');
    results.push({ what, ok: false, says: says!, remedy: remedy.length === 0 ? REMEDIES[what] : remedy.join('; ') });
    return undefined;
  }
}

/** Remedies for errors whose message has none. */
const REMEDIES: Record<string, string> = {
  address: 'set COUNTERSIGN_URL or --url to the address of the service',
  key: 'set COUNTERSIGN_API_KEY to the key exactly as it was printed; if it is lost, mint another (`countersign-server keys mint`)',
  'verify key':
    'give the trust file with --trust (`countersign-server trust show`), ' +
    'or a decision key with --verify-key (`countersign-server decision-key show`)',
};

const MARKS = new Map<boolean | null, string>([
  [true, 'ok  '],
  [false, 'BAD '],
  [null, 'note'],
]);

const linesOf = ({ what, ok, says, remedy }: Diagnosis): string[] => [
  `${MARKS.get(ok)}  ${what.padEnd(18)}  ${shortLine(says, 500)}`,
  ...(remedy === undefined ? [] : [`      ${' '.repeat(18)}  -> ${shortLine(remedy, 500)}`]),
];
