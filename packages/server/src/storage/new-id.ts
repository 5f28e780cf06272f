import { randomFillSync } from 'node:crypto';
import { v7 as uuidV7 } from 'uuid';

const ID_BYTES = 16;

/** Random bytes taken in advance: asking for 16 at a time is most of what an id costs. None is used twice. */
const bytes = Buffer.allocUnsafeSlow(256 * ID_BYTES);
let used = bytes.length;
/** A clock that was set back by more is followed: half of what a range of time allows ids to stray (storage/portal/id-time.ts). */
const FOLLOWED_BACK_MS = 30_000;
let last = { msecs: 0, seq: 0 };

/** A new identifier, a UUID of version 7: those of one process are in the order in which they were made, as indexes like it. */
export function newId(): string {
  if (used === bytes.length) {
    randomFillSync(bytes);
    used = 0;
  }
  const random = bytes.subarray(used, used + ID_BYTES);
  used += ID_BYTES;
  const msecs = Date.now();
  // Within a millisecond, and should the clock go back a little, the sequence goes on; at its end the time does. A clock that was set
  // back is followed: ids that lay ahead of their rows' moments would be missed by whoever looks for a range of time.
  if (msecs > last.msecs || msecs < last.msecs - FOLLOWED_BACK_MS) last = { msecs, seq: random.readUInt32BE(6) >>> 1 };
  else if (last.seq === 0xffff_ffff) last = { msecs: last.msecs + 1, seq: 0 };
  else last.seq += 1;
  return uuidV7({ random, ...last });
}
