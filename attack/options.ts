import { parseArgs } from 'node:util';
import { ATTACKS, type AttackName } from './attacks.ts';
import { requireLoopback } from './loopback.ts';

/** What is attacked, and for how long. */
export interface Options {
  only: readonly AttackName[];
  /** Of each attack. */
  seconds: number;
  host: string;
  /** Of the fuzzed requests: the same number makes the same requests. */
  seed: number;
}

const NAMES = Object.keys(ATTACKS) as AttackName[];
const SECONDS_MAX = 300;

export const HELP = `npm run attack -- [options]
  Attacks a server of its own on this machine, and says whether each bound in docs/reliability.md holds.
  --only NAME,NAME   attacks to run (all): ${NAMES.join(', ')}
  --seconds N        seconds of each attack, at most ${SECONDS_MAX} (10)
  --seed N           of the fuzzed requests (1)
  --host ADDRESS     a loopback address to listen on; any other is refused (127.0.0.1)
Ends with 1 when a bound does not hold, and with 2 when the attack could not be made.
`;

/** Reads the command line. Throws with one line that says what is wrong. */
export function readOptions(args: string[]): Options | 'help' {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', short: 'h' },
      only: text(NAMES.join(',')),
      seconds: text('10'),
      seed: text('1'),
      host: text('127.0.0.1'),
    },
  });
  if (values.help === true) return 'help';
  requireLoopback(values.host);
  return {
    only: values.only.split(',').map(nameOf),
    seconds: whole('--seconds', values.seconds, SECONDS_MAX),
    seed: whole('--seed', values.seed, 2 ** 31),
    host: values.host,
  };
}

function nameOf(given: string): AttackName {
  const found = NAMES.find((name) => name === given);
  if (found === undefined) throw new Error(`--only takes ${NAMES.join(', ')}; got ${JSON.stringify(given)}`);
  return found;
}

function whole(name: string, text: string, max: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= 1 && number <= max) return number;
  throw new Error(`${name} must be a whole number from 1 to ${max}, got ${JSON.stringify(text)}`);
}
