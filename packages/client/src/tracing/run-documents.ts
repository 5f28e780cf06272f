import { backgroundTimer } from '../runtime/timers.ts';
import type { Trace } from '../wire/contract.ts';

/** A run as JSON texts. */
export interface RunDocuments {
  /** The members of the trace except `spans`. */
  head: string;
  spans: string[];
}

/** The memory in bytes that a queued run and each of its texts need in addition to the characters. */
const RUN_BYTES = 1000;
const TEXT_BYTES = 50;

/** The memory of a queued run in bytes: two per character, and the overhead of each object. */
export const bytesOf = ({ head, spans }: RunDocuments): number =>
  spans.reduce((bytes, span) => bytes + TEXT_BYTES + span.length * 2, RUN_BYTES + head.length * 2);

/** Parses the texts of a run. */
export const traceOf = ({ head, spans }: RunDocuments): Trace => ({
  ...JSON.parse(head),
  spans: spans.map((span) => JSON.parse(span)),
});

/** Resolves with the response, or with undefined after the time limit. The timer does not keep the process alive. */
export function responseWithin<T>(response: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((resolve) => {
    const stop = backgroundTimer(() => resolve(undefined), ms);
    void response.then((value) => {
      stop();
      resolve(value);
    });
  });
}
