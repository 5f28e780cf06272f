import { randomFillSync } from 'node:crypto';
import { v7 as uuidV7 } from 'uuid';

const ID_BYTES = 16;

/** Random bytes that are generated in advance, because one call of the generator takes longer than the rest of `newId`. */
const bytes = Buffer.allocUnsafeSlow(256 * ID_BYTES);
let usedBytes = bytes.length;
/** The largest step back of the clock that new IDs ignore. It is half the tolerance of time ranges (storage/portal/id-time.ts). */
const BACKWARD_STEP_MS = 30_000;
let last = { msecs: 0, seq: 0 };

/**
 * A new identifier, a UUID of version 7. The IDs of one process are in the order of their creation, except after a step back of the clock
 * by more than BACKWARD_STEP_MS.
 */
export function newId(): string {
  if (usedBytes === bytes.length) {
    randomFillSync(bytes);
    usedBytes = 0;
  }
  const random = bytes.subarray(usedBytes, usedBytes + ID_BYTES);
  usedBytes += ID_BYTES;
  const msecs = Date.now();
  // Within a millisecond, and after a small step back of the clock, the sequence number is incremented. After its maximum, the time is
  // incremented. After a larger step back, IDs use the new time: otherwise a query for a time range would miss rows with later IDs.
  if (msecs > last.msecs || msecs < last.msecs - BACKWARD_STEP_MS) last = { msecs, seq: random.readUInt32BE(6) >>> 1 };
  else if (last.seq === 0xffff_ffff) last = { msecs: last.msecs + 1, seq: 0 };
  else last.seq += 1;
  return uuidV7({ random, ...last });
}
