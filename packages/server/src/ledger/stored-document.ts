/** Parses a stored document. Undefined if it is not the JSON text of an object. */
export function parsedDocument(document: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(document);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The fault of the first column that differs from the document of its row; undefined if none does. The document was hashed or signed.
 * @param names the columns that repeat members of the document. The column `recorded_at` has microseconds; their last three digits must be
 *   zero.
 */
export function columnFault<Name extends string>(
  document: Record<string, unknown>,
  row: Readonly<Record<Name, unknown>>,
  names: readonly Name[],
): string | undefined {
  for (const name of names) {
    const hashed = name === 'recorded_at' ? String(document[name]).replace(/Z$/, '000Z') : document[name];
    if (row[name] !== hashed)
      return `the column ${name} says ${JSON.stringify(row[name])}, but the hashed document says ${JSON.stringify(hashed)}`;
  }
  return undefined;
}
