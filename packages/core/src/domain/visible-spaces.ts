/**
 * Shows each space of a run of spaces as U+2423 (␣), so that two names that differ only in the number of spaces look different. HTML, and
 * texts in one line, would show a run as one space. Texts with single spaces stay as they are.
 */
export const visibleSpaces = (text: string): string => text.replace(/\p{Zs}{2,}/gu, (run) => '\u2423'.repeat(run.length));
