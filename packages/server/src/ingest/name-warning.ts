/** Names, on the answer to a record that registers an agent, known agents whose names look like it. */
export const WARNING_HEADER = 'Countersign-Warning';

/** Most warnings of one answer. */
const WARNINGS_MAX = 3;
/** Longest name in a warning as it is encoded: HTTP clients take a few KiB of headers. */
const ENCODED_LENGTH_MAX = 300;

/**
 * The header of an answer that registers agents which look like known ones, `similar-agent-name;agent_name=Bot;similar_to=bot`, several
 * joined by a comma; undefined when no agent does. Names are UTF-8 in percent-encoding. A longer name is cut off and ends in `...`, and
 * `more=2` says how many warnings were left out.
 */
export function similarNameWarning(registered: readonly { name: string; similar: readonly string[] }[]): string | undefined {
  const warned = registered.filter(({ similar }) => similar.length > 0);
  if (warned.length === 0) return undefined;
  const warnings = warned
    .slice(0, WARNINGS_MAX)
    .map(({ name, similar }) => `similar-agent-name;agent_name=${encoded(name)};similar_to=${encoded(similar[0]!)}`);
  if (warned.length > WARNINGS_MAX) warnings.push(`similar-agent-name;more=${warned.length - WARNINGS_MAX}`);
  return warnings.join(', ');
}

function encoded(name: string): string {
  const whole = encodeURIComponent(name);
  if (whole.length <= ENCODED_LENGTH_MAX) return whole;
  let kept = '';
  for (const character of name) {
    const next = encodeURIComponent(character);
    if (kept.length + next.length > ENCODED_LENGTH_MAX - 3) break;
    kept += next;
  }
  return `${kept}...`;
}
