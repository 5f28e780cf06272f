/** The longest free text that the service accepts, in code points. Texts are cut to as many UTF-16 units, so they always fit. */
const TEXT_LENGTH_MAX = 65_536;

/** The text of a thrown value, cut to a length that the service accepts. Never throws. */
export function errorText(thrown: unknown): string {
  try {
    return (thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown)).slice(0, TEXT_LENGTH_MAX);
  } catch {
    return 'the thrown value has no text';
  }
}
