import type { Admission } from '../database/admission.ts';

/** The memory of one request body, reserved in the admission of bodies. */
export interface BodyReservation {
  /** Reserves memory for this many bytes of the body in total, or throws 503. */
  cover(bytes: number): void;
  /** Releases all of it. Safe to call twice. */
  release(): void;
}

/**
 * Reserves the whole declared length at once, before a byte is read. So an accepted body is never displaced by later ones, and a
 * rejected one costs nothing.
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

/** The first reservation for a body of unknown length, and the expected expansion of a compressed body. */
const FIRST_STEP_BYTES = 64 * 1024;
const EXPECTED_EXPANSION = 8;

/**
 * Reserves memory for a chunked or compressed body, whose length is unknown. The reservation doubles as the body grows. All such bodies
 * together are limited to their part of the admission, so that they never displace bodies of a declared length.
 * @param compressedBytes the declared length of a compressed body.
 */
export function reserveGrowing(
  admission: Admission,
  tenantId: string,
  { bytesMax, compressedBytes = 0 }: { bytesMax: number; compressedBytes?: number | undefined },
): BodyReservation {
  let reserved = Math.min(bytesMax, Math.max(FIRST_STEP_BYTES, compressedBytes * EXPECTED_EXPANSION));
  admission.enterGrowing(tenantId, reserved, 'start');
  return {
    cover: (bytes) => {
      if (bytes <= reserved) return;
      const step = Math.max(bytes, Math.min(bytesMax, reserved * 2)) - reserved;
      admission.enterGrowing(tenantId, step, 'growth');
      reserved += step;
    },
    release: () => {
      admission.leaveGrowing(tenantId, reserved);
      reserved = 0;
    },
  };
}
