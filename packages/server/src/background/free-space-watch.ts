import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { defaultFloor, FreeSpace, readSpace } from '../database/free-space.ts';

/** Creates the watch of the embedded database's free space; undefined for an external database. The caller starts it. */
export function watchFreeSpace(
  config: Pick<Config, 'freeSpaceMinBytes' | 'readingBytesMax' | 'queueBytesMax'>,
  embeddedIn: string | undefined,
  log: Logger,
): FreeSpace | undefined {
  if (embeddedIn === undefined) return undefined;
  return new FreeSpace({
    probe: () => readSpace(embeddedIn),
    floorOf: (total) => config.freeSpaceMinBytes ?? defaultFloor(total, config.readingBytesMax + config.queueBytesMax),
    onChange: ({ isLow, freeBytes, floorBytes }) => {
      if (isLow) log.warn({ freeBytes, floorBytes }, 'the disk of the database is nearly full: new records are rejected');
      else log.info({ freeBytes, floorBytes }, 'the disk of the database has space again: new records are accepted');
    },
  });
}
