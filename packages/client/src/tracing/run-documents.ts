import { backgroundTimer } from '../runtime/timers.ts';
import type { Trace } from '../wire/contract.ts';

/** What a run is, as JSON texts. */
export interface RunDocuments {
  head: string;
  spans: string[];
}

/** What a queued run and each of its texts cost besides their characters, in bytes. */
const RUN_BYTES = 1000;
const TEXT_BYTES = 50;

/** Bytes of memory that a queued run takes: two per character, and what belongs to each object. */
export const bytesOf = ({ head, spans }: RunDocuments): number =>
  spans.reduce((bytes, span) => bytes + TEXT_BYTES + span.length * 2, RUN_BYTES + head.length * 2);

/** The run as an object again. */
export const traceOf = ({ head, spans }: RunDocuments): Trace => ({
  ...JSON.parse(head),
  spans: spans.map((span) => JSON.parse(span)),
});

/** An answer that may be long in coming: undefined when it has not come in time. The timer keeps no process alive. */
export function answerWithin<T>(answer: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((resolve) => {
    const stop = backgroundTimer(() => resolve(undefined), Math.min(ms, 2 ** 31 - 1));
    void answer.then((value) => {
      stop();
      resolve(value);
    });
  });
}
