import { parseArgs } from 'node:util';
import type { AttackOptions } from './attack.ts';
import { ATTACKS, type AttackName } from './attacks.ts';
import { requireLoopback } from './loopback.ts';

/** The options of the command. */
export interface Options extends AttackOptions {
  only: readonly AttackName[];
  host: string;
}

const NAMES = Object.keys(ATTACKS) as AttackName[];
const SECONDS_MAX = 300;
const REQUESTS_MAX = 1_000_000;
const SEED_MAX = 2 ** 31;

export const HELP = `npm run attack -- [options]
  For each attack, starts a server on this machine, attacks it, and reports whether its bounds and promises hold
  (docs/reliability.md).
  --only NAME,NAME   attacks to run (default: all): ${NAMES.join(', ')}
  --seconds N        duration of an attack, at most ${SECONDS_MAX} (default: 10); crowding-bodies takes twice as long, long-trace up to
                     three times as long, unread-documents up to 60 s longer; killed-processes makes 4 to 40 kills
  --seed N           seed of the fuzzed requests, at most ${SEED_MAX} (default: 1)
  --requests N       number of fuzzed requests, at most ${REQUESTS_MAX}, instead of --seconds (default: as many as the seconds allow)
  --host ADDRESS     a loopback address to listen on; any other is rejected (default: 127.0.0.1)
Exits with 1 if a bound or promise does not hold. Exits with 2 for invalid options, and if an attack cannot run, takes too long or is
interrupted.
`;

/** Reads the command line. If it is invalid, throws an error that says what is wrong. */
export function readOptions(args: string[]): Options | 'help' {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', short: 'h' },
      only: text(NAMES.join(',')),
      seconds: text('10'),
      seed: text('1'),
      requests: { type: 'string' },
      host: text('127.0.0.1'),
    },
  });
  if (values.help === true) return 'help';
  requireLoopback(values.host);
  return {
    only: values.only.split(',').map(nameOf),
    seconds: wholeNumber('--seconds', values.seconds, SECONDS_MAX),
    seed: wholeNumber('--seed', values.seed, SEED_MAX),
    requests: values.requests === undefined ? undefined : wholeNumber('--requests', values.requests, REQUESTS_MAX),
    host: values.host,
  };
}

function nameOf(given: string): AttackName {
  const found = NAMES.find((name) => name === given);
  if (found === undefined) throw new Error(`--only takes ${NAMES.join(', ')}; got ${JSON.stringify(given)}`);
  return found;
}

/** Reads a whole number from 1 to `max`. Throws an error that names the option if the text is anything else. */
export function wholeNumber(name: string, text: string, max: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= 1 && number <= max) return number;
  throw new Error(`${name} must be a whole number from 1 to ${max}, got ${JSON.stringify(text)}`);
}
