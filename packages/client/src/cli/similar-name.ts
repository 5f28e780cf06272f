import { shortLine } from './plain-text.ts';

/**
 * The lines that explain the header `Countersign-Warning`: the names of new agents look like those of known agents.
 * A name that is not plain ASCII is also shown percent-encoded, because different letters may look the same.
 */
export function similarNameLines(header: string | null): string[] {
  if (header === null) return [];
  return header.split(', ').flatMap((warning) => {
    const [kind, ...members] = warning.split(';');
    if (kind !== 'similar-agent-name') return [];
    const value = (name: string) => members.find((member) => member.startsWith(`${name}=`))?.slice(name.length + 1);
    const [registered, known, more] = [value('agent_name'), value('similar_to'), value('more')];
    if (registered !== undefined && known !== undefined)
      return [
        `warning: ${displayName(registered)} was registered as a new agent; its name looks like that of ` +
          `the known agent ${displayName(known)}. If you meant the known agent, record again with its name.`,
      ];
    if (more === undefined) return [];
    return more === '1'
      ? ['warning: 1 more new agent has a name that looks like that of a known agent.']
      : [`warning: ${shortLine(more, 10)} more new agents have names that look like those of known agents.`];
  });
}

function displayName(encoded: string): string {
  const name = decode(encoded);
  const quoted = JSON.stringify(shortLine(name, 100));
  return /^[ -~]*$/.test(name) ? quoted : `${quoted} (${shortLine(encoded, 300)})`;
}

function decode(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
