import type { Admission } from '../database/admission.ts';

/** The memory that is reserved for one request body. */
export interface BodyReservation {
  /** Extends the reservation to this many bytes of the body in total, or throws 503. */
  cover(bytes: number): void;
  /** Releases the whole reservation. A second call has no effect. */
  release(): void;
}

/**
 * Reserves the whole declared length before a byte is read, or throws 503. So an accepted body is never rejected because of later ones,
 * and nothing is reserved for a rejected body.
 */
export function reserveDeclared(admission: Admission, tenantId: string, bytes: number): BodyReservation {
  admission.enter(tenantId, bytes);
  let reserved = bytes;
  return {
    cover: () => undefined,
    release: () => {
      admission.leave(tenantId, reserved);
      reserved = 0;
    },
  };
}

/** The smallest first reservation for a body of unknown length. */
const FIRST_RESERVATION_BYTES_MIN = 64 * 1024;
/** The assumed ratio of decompressed to compressed bytes. */
const EXPECTED_EXPANSION = 8;

/**
 * Reserves memory for a chunked or compressed body, whose length is unknown, or throws 503. The reservation doubles as the body grows. All
 * such bodies together may use only a part of the memory, so that the rest remains for bodies of declared length.
 * @param bytesMax the maximum length of the decompressed body.
 * @param compressedBytes the declared length of a compressed body; 0 if it is unknown.
 */
export function reserveGrowing(
  admission: Admission,
  tenantId: string,
  { bytesMax, compressedBytes = 0 }: { bytesMax: number; compressedBytes?: number | undefined },
): BodyReservation {
  let reserved = Math.min(bytesMax, Math.max(FIRST_RESERVATION_BYTES_MIN, compressedBytes * EXPECTED_EXPANSION));
  admission.enterGrowing(tenantId, reserved, 0);
  return {
    cover: (bytes) => {
      if (bytes <= reserved) return;
      const step = Math.max(bytes, Math.min(bytesMax, reserved * 2)) - reserved;
      admission.enterGrowing(tenantId, step, reserved);
      reserved += step;
    },
    release: () => {
      admission.leaveGrowing(tenantId, reserved);
      reserved = 0;
    },
  };
}
