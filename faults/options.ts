import { parseArgs } from 'node:util';
import { wholeNumber } from '../attack/options.ts';
import type { FaultOptions } from './fault.ts';
import { FAULTS, type FaultName } from './faults.ts';

const NAMES = Object.keys(FAULTS) as FaultName[];
const ROUNDS_MAX = 1_000;
const SECONDS_MAX = 3_600;
const SERVERS_MAX = 4;

export const HELP = `npm run faults -- [options]
  Starts servers on this machine, causes failures while senders write, and checks every acknowledged record afterwards.
  --only NAME,NAME   faults to cause (all): ${NAMES.join(', ')}
  --rounds N         rounds of kills and outages, at most ${ROUNDS_MAX} (12)
  --seconds N        duration of loads, at most ${SECONDS_MAX} (60)
  --servers N        servers on one database, 1 to ${SERVERS_MAX} (2); several-servers runs with 2 and more, up to N
Exits with 1 when a promise of docs/reliability.md does not hold, and with 2 when a fault could not be caused.
`;

/** Reads the command line. Throws an error of one line when it is invalid. */
export function readOptions(args: string[]): (FaultOptions & { only: readonly FaultName[] }) | 'help' {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', short: 'h' },
      only: text(NAMES.join(',')),
      rounds: text('12'),
      seconds: text('60'),
      servers: text('2'),
    },
  });
  if (values.help === true) return 'help';
  return {
    only: values.only.split(',').map(nameOf),
    rounds: wholeNumber('--rounds', values.rounds, ROUNDS_MAX),
    seconds: wholeNumber('--seconds', values.seconds, SECONDS_MAX),
    servers: wholeNumber('--servers', values.servers, SERVERS_MAX),
  };
}

function nameOf(given: string): FaultName {
  const found = NAMES.find((name) => name === given);
  if (found === undefined) throw new Error(`--only takes ${NAMES.join(', ')}; got ${JSON.stringify(given)}`);
  return found;
}
