import { databaseOutages } from './database-outages.ts';
import type { Fault } from './fault.ts';
import { kills } from './kills.ts';
import { openFiles } from './open-files.ts';
import { overload } from './overload.ts';
import { readOnlyFolder } from './read-only-folder.ts';
import { severalServers } from './several-servers.ts';

/** Every fault by its name, in the order of the table. */
export const FAULTS = {
  kills,
  'several-servers': severalServers,
  'database-outages': databaseOutages,
  'open-files': openFiles,
  'read-only-folder': readOnlyFolder,
  overload,
} as const satisfies Record<string, Fault>;
export type FaultName = keyof typeof FAULTS;
