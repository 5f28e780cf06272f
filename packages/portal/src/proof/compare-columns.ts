/**
 * Compares the columns that a page shows with the text that was hashed or signed, and returns a message for each difference. The hash and
 * the signature do not cover the columns. Without the comparison, an altered column would look verified.
 */
export const compareColumns = (
  document: Readonly<Record<string, unknown>>,
  columns: Readonly<Record<string, unknown>>,
): string[] =>
  Object.entries(columns)
    .filter(([name, value]) => value !== document[name])
    .map(
      ([name, value]) =>
        `The column "${name}" is ${JSON.stringify(value)}, but the hashed text says ${JSON.stringify(document[name])}. The column was altered.`,
    );
