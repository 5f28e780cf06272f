import type { Session } from './session.ts';

/** The rows between two checks of the clock, and the milliseconds between two lines. */
const LOOK_EVERY_ROWS = 500;
const SAY_EVERY_MS = 1000;

/** The progress of a verification, on stderr. */
export interface Progress {
  /** Called with the number of rows; undefined if progress is not shown. */
  heard: ((rows: number) => void) | undefined;
  /** Ends the line that is rewritten on a terminal. */
  done(): void;
}

/** Shows progress if stderr is a terminal or if requested: rows so far, rows per second. Never with --json. */
export function progressOn(session: Session, asked: boolean): Progress {
  const { isTerminal } = session;
  if (session.json || !(asked || isTerminal)) return { heard: undefined, done: () => undefined };
  const startedAt = performance.now();
  let [lookedAt, saidAt, said] = [0, startedAt, false];
  const heard = (rows: number) => {
    if (rows - lookedAt < LOOK_EVERY_ROWS) return;
    lookedAt = rows;
    const now = performance.now();
    if (now - saidAt < SAY_EVERY_MS) return;
    saidAt = now;
    said = true;
    const line = `${rows} rows, ${Math.round((rows / (now - startedAt)) * 1000)} rows/s`;
    session.sayRaw(isTerminal ? `\r${line}\u001b[K` : `${line}\n`);
  };
  return { heard, done: () => said && isTerminal && session.sayRaw('\r\u001b[K') };
}
