import { parseArgs } from 'node:util';
import { wholeNumber } from '../attack/options.ts';
import type { Fault, FaultOptions } from './fault.ts';
import { FAULTS, type FaultName } from './faults.ts';

const FAULTS_BY_NAME: Readonly<Record<FaultName, Fault>> = FAULTS;
const NAMES = Object.keys(FAULTS) as FaultName[];
const ON_CITUS = NAMES.filter((name) => FAULTS_BY_NAME[name].onCitus === true);
const ROUNDS_MAX = 1_000;
const SECONDS_MAX = 3_600;
const SERVERS_MAX = 4;

export const HELP = `npm run faults -- [options]
  Starts servers on this machine, causes failures while senders write, and checks every acknowledged record afterwards.
  --only NAME,NAME   faults to cause (all): ${NAMES.join(', ')}
  --rounds N         rounds of kills and outages, at most ${ROUNDS_MAX} (12)
  --seconds N        duration of several-servers and of the steady load of overload, at most ${SECONDS_MAX} (60)
  --servers N        servers on one database, 1 to ${SERVERS_MAX} (2); several-servers runs with 2 and more, up to N
  --citus            on a coordinator and two workers of Citus: ${ON_CITUS.join(', ')}; see docs/scaling.md
Exits with 1 when a promise does not hold, and with 2 when a fault could not be caused.
`;

/** Reads the command line. Throws an error of one line when it is invalid. */
export function readOptions(args: string[]): (FaultOptions & { only: readonly FaultName[] }) | 'help' {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', short: 'h' },
      only: { type: 'string' },
      citus: { type: 'boolean', default: false },
      rounds: text('12'),
      seconds: text('60'),
      servers: text('2'),
    },
  });
  if (values.help === true) return 'help';
  const names = values.citus ? ON_CITUS : NAMES;
  return {
    only: values.only?.split(',').map((name) => nameOf(name, names)) ?? names,
    citus: values.citus,
    rounds: wholeNumber('--rounds', values.rounds, ROUNDS_MAX),
    seconds: wholeNumber('--seconds', values.seconds, SECONDS_MAX),
    servers: wholeNumber('--servers', values.servers, SERVERS_MAX),
  };
}

function nameOf(given: string, names: readonly FaultName[]): FaultName {
  const found = names.find((name) => name === given);
  if (found === undefined) throw new Error(`--only takes ${names.join(', ')}; got ${JSON.stringify(given)}`);
  return found;
}
