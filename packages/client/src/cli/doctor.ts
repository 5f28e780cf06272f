import { SCOPES } from '@countersign/core/contract/scopes';
import { command } from './command.ts';
import { diagnoseScope } from './diagnose-key.ts';
import { type Diagnosis, diagnoseAddress, diagnoseClock } from './diagnose-service.ts';
import { diagnoseVerifyKey } from './diagnose-verify-key.ts';
import { CommandError } from './exit-codes.ts';
import { CONNECTION, type Options } from './options.ts';
import { shortLine } from './plain-text.ts';
import { readDuration } from './readings.ts';
import type { Connection, Session } from './session.ts';
import { hasKeys, readTrusted, requireWorkspace, TRUST, type Trusted, type TrustOptions } from './trusted.ts';

const OPTIONS = {
  ...CONNECTION,
  scopes: { type: 'string', value: 'LIST', help: 'scopes that the key must have, such as governance,evaluations (governance)' },
  ...TRUST,
  'verify-key': { type: 'string', multiple: true, value: 'FILE', help: 'the key that the gate is to verify with' },
} as const satisfies Options;

/** `doctor`: what is wrong with address, key, scopes and clock, and what to do. Records nothing. */
export const doctor = command({
  name: 'doctor',
  summary: 'Say what is wrong with address, TLS, key, scopes and clock, each with its remedy. Records nothing.',
  options: OPTIONS,
  examples: ['countersign doctor', 'countersign doctor --scopes governance,evaluations'],
  async run(session, values) {
    const diagnoses = await examine(session, values, readScopes(values.scopes));
    const ill = diagnoses.filter(({ ok }) => ok === false);
    session.answer({ ok: ill.length === 0, findings: diagnoses }, diagnoses.flatMap(linesOf));
    return ill.length === 0 ? 'ok' : 'no';
  },
});

function readScopes(given = 'governance'): string[] {
  const scopes = given.split(',').map((scope) => scope.trim());
  const unknown = scopes.find((scope) => !(SCOPES as readonly string[]).includes(scope));
  if (unknown !== undefined)
    throw new CommandError('wrong_use', `--scopes takes some of ${SCOPES.join(',')}; got ${JSON.stringify(unknown)}`);
  return scopes;
}

type Given = Connection & TrustOptions;

const ofWorkspace = ({ workspace }: Trusted): string =>
  workspace === undefined ? '' : `; decisions must be of workspace ${workspace}`;

/** One finding after the other; what stands on a bad one is not tried. */
async function examine(session: Session, values: Given, wanted: readonly string[]): Promise<Diagnosis[]> {
  const timeoutMs = readDuration('--timeout', values.timeout ?? '10s');
  const found: Diagnosis[] = [];
  const address = await tried(
    'address',
    async () => session.address(values),
    (url) => url,
    found,
  );
  const key = await tried(
    'key',
    () => session.key(values),
    (text) => `${text.slice(0, 20)}… has the form of an ingestion key`,
    found,
  );
  const trusted = await tried(
    'verify key',
    async () => {
      const given = readTrusted(session, values);
      requireWorkspace(given);
      return given;
    },
    (given) => (hasKeys(given) ? `can be read${ofWorkspace(given)}` : 'none given: signatures are not checked'),
    found,
    (given) => (hasKeys(given) ? true : null),
  );
  if (address === undefined) return found;
  const reached = await diagnoseAddress(session.terminal, address, { timeoutMs, insecureHttp: values['insecure-http'] === true });
  found.push(...reached.diagnoses);
  if (reached.answer === undefined) return found;
  found.push(diagnoseClock(reached.answer));
  if (trusted !== undefined && hasKeys(trusted))
    found.push(await diagnoseVerifyKey(session.terminal, address, trusted, timeoutMs));
  if (key === undefined) return found;
  for (const scope of SCOPES)
    found.push(await diagnoseScope(session.terminal, address, key, { scope, wanted: wanted.includes(scope), timeoutMs }));
  return found;
}

/** What can be read is a good finding, what cannot a bad one: its error says the remedy. */
async function tried<T>(
  what: string,
  work: () => Promise<T>,
  words: (value: T) => string,
  found: Diagnosis[],
  good: (value: T) => true | null = () => true,
): Promise<T | undefined> {
  try {
    const value = await work();
    found.push({ what, ok: good(value), says: words(value) });
    return value;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const [says, ...remedy] = error.message.split('; ');
    found.push({ what, ok: false, says: says!, remedy: remedy.length === 0 ? REMEDIES[what] : remedy.join('; ') });
    return undefined;
  }
}

/** What to do where the error itself does not say it. */
const REMEDIES: Record<string, string> = {
  address: 'give the address of the service, as COUNTERSIGN_URL or --url',
  key: 'give the key as it was printed, alone, as COUNTERSIGN_API_KEY; when it is lost, mint another (`countersign-server keys mint`)',
  'verify key':
    'give the trust file (`countersign-server trust show --workspace NAME`), or a file of the decision key (`decision-key show`)',
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
