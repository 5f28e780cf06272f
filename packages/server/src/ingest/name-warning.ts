/** The response header about newly registered agents whose names look like those of known agents. */
export const WARNING_HEADER = 'Countersign-Warning';

/** The maximum number of new agents that the header names. */
const WARNINGS_MAX = 3;
/** The maximum length of an encoded name in a warning, because HTTP clients accept only a few KiB of headers. */
const ENCODED_LENGTH_MAX = 300;

/**
 * The value of the header for new agents that look like known ones: `similar-agent-name;agent_name=Bot;similar_to=bot`. Several warnings
 * are joined by a comma. Undefined if there are none. Names are UTF-8 in percent-encoding. An encoded name longer than ENCODED_LENGTH_MAX
 * is cut off and ends in `...`. For more than WARNINGS_MAX new agents, `similar-agent-name;more=2` gives the number of omitted ones.
 */
export function similarNameWarning(registered: readonly { name: string; similar: readonly string[] }[]): string | undefined {
  const warned = registered.filter(({ similar }) => similar.length > 0);
  if (warned.length === 0) return undefined;
  const warnings = warned
    .slice(0, WARNINGS_MAX)
    .map(({ name, similar }) => `similar-agent-name;agent_name=${encodeName(name)};similar_to=${encodeName(similar[0]!)}`);
  if (warned.length > WARNINGS_MAX) warnings.push(`similar-agent-name;more=${warned.length - WARNINGS_MAX}`);
  return warnings.join(', ');
}

function encodeName(name: string): string {
  const whole = encodeURIComponent(name);
  if (whole.length <= ENCODED_LENGTH_MAX) return whole;
  let beginning = '';
  for (const character of name) {
    const next = encodeURIComponent(character);
    if (beginning.length + next.length > ENCODED_LENGTH_MAX - 3) break;
    beginning += next;
  }
  return `${beginning}...`;
}
