import type { Admission } from '../database/admission.ts';

/** Room for one request body in the admission of bodies. */
export interface BodyReservation {
  /** Makes sure that this many bytes of the body have room, or throws 503. */
  cover(bytes: number): void;
  /** Gives all of it back. Safe to call twice. */
  release(): void;
}

/**
 * Takes the whole declared length at once, before a byte is read: a body that is admitted is never crowded out by later ones,
 * and one that is refused has cost nothing.
 */
export function reserveDeclared(admission: Admission, tenantId: string, bytes: number): BodyReservation {
  admission.enter(tenantId, bytes);
  let held = bytes;
  return {
    cover: () => undefined,
    release: () => {
      admission.leave(tenantId, held);
      held = 0;
    },
  };
}

/** First step of a body whose length is unknown, and how many times its compressed length a body is expected to hold. */
const FIRST_STEP_BYTES = 64 * 1024;
const EXPECTED_EXPANSION = 8;

/**
 * Reserves for a body whose length is not known: chunked, or compressed. Its room doubles as it grows. All such bodies together take no
 * more than their part of the admission, so they never crowd out bodies of a declared length.
 * @param compressedBytes the declared length of a compressed body.
 */
export function reserveGrowing(
  admission: Admission,
  tenantId: string,
  { bytesMax, compressedBytes = 0 }: { bytesMax: number; compressedBytes?: number | undefined },
): BodyReservation {
  let held = Math.min(bytesMax, Math.max(FIRST_STEP_BYTES, compressedBytes * EXPECTED_EXPANSION));
  admission.enterGrowing(tenantId, held, 'start');
  return {
    cover: (bytes) => {
      if (bytes <= held) return;
      const step = Math.max(bytes, Math.min(bytesMax, held * 2)) - held;
      admission.enterGrowing(tenantId, step, 'growth');
      held += step;
    },
    release: () => {
      admission.leaveGrowing(tenantId, held);
      held = 0;
    },
  };
}
