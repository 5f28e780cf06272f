import { parseArgs } from 'node:util';
import { wholeNumber } from '../attack/options.ts';
import type { Fault, FaultOptions } from './fault.ts';
import { FAULTS, type FaultName } from './faults.ts';

const FAULTS_BY_NAME: Readonly<Record<FaultName, Fault>> = FAULTS;
const NAMES = Object.keys(FAULTS) as FaultName[];
const ON_CITUS = NAMES.filter((name) => FAULTS_BY_NAME[name].supportsCitus === true);
const ROUNDS_MAX = 1_000;
const SECONDS_MAX = 3_600;
const SERVERS_MAX = 4;

export const HELP = `npm run faults -- [options]
  Starts servers on this machine, causes failures while senders write, and checks every acknowledged record afterwards.
  --only NAME,NAME   faults to cause (default: all): ${NAMES.join(', ')}
  --rounds N         rounds of each fault except several-servers and overload, at most ${ROUNDS_MAX} (default: 12)
  --seconds N        duration of several-servers and of the steady load of overload, at most ${SECONDS_MAX} (default: 60)
  --servers N        servers on one database, 1 to ${SERVERS_MAX} (default: 2); several-servers runs with 2 servers, then with 3, up to N
  --citus            use Citus instead of the embedded database (docs/scaling.md); only for ${ON_CITUS.join(', ')}
Exits with 1 if a promise does not hold. Exits with 2 for invalid options, and if a fault could not be caused or was interrupted.
`;

/** Reads the command line. If it is invalid, throws an error that says what is wrong. */
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
    onCitus: values.citus,
    rounds: wholeNumber('--rounds', values.rounds, ROUNDS_MAX),
    seconds: wholeNumber('--seconds', values.seconds, SECONDS_MAX),
    servers: wholeNumber('--servers', values.servers, SERVERS_MAX),
  };
}

function nameOf(text: string, names: readonly FaultName[]): FaultName {
  const found = names.find((name) => name === text);
  if (found === undefined)
    throw new Error(`${names === ON_CITUS ? 'with --citus, ' : ''}--only takes ${names.join(', ')}; got ${JSON.stringify(text)}`);
  return found;
}
