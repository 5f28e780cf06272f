import type { Session } from './session.ts';

/** The minimum number of rows between two checks of the clock. */
const CHECK_EVERY_ROWS = 500;

/** The minimum time between two lines of output. */
const PRINT_EVERY_MS = 1000;

/** The progress of a backup, a restore or a verification, on stderr. */
export interface Progress {
  /** Called with the number of rows so far; undefined if progress is not shown. */
  onRows: ((rows: number) => void) | undefined;
  /** Clears the line of progress on a terminal. */
  done(): void;
}

/** Shows the rows so far and the rows per second, if stderr is a terminal or if requested. Shows nothing with --json. */
export function progressOn(session: Session, isRequested: boolean): Progress {
  const { isTerminal } = session;
  if (session.json || !(isRequested || isTerminal)) return { onRows: undefined, done: () => undefined };
  const startedAt = performance.now();
  let [checkedRows, printedAt, hasOutput] = [0, startedAt, false];
  const onRows = (rows: number) => {
    if (rows - checkedRows < CHECK_EVERY_ROWS) return;
    checkedRows = rows;
    const now = performance.now();
    if (now - printedAt < PRINT_EVERY_MS) return;
    printedAt = now;
    hasOutput = true;
    const line = `${rows} rows, ${Math.round((rows / (now - startedAt)) * 1000)} rows/s`;
    session.sayRaw(isTerminal ? `\r${line}\u001b[K` : `${line}\n`);
  };
  return { onRows, done: () => hasOutput && isTerminal && session.sayRaw('\r\u001b[K') };
}
