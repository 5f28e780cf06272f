/** Quotes a name for a shell if necessary, in commands that people copy into a terminal. */
export const shellWord = (name: string): string => (/^[\w.@-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`);
