import { shortLine } from './plain-text.ts';

/**
 * What the header `Countersign-Warning` says, one line a warning: a new agent was registered whose name looks like that of a known one.
 * The names are shown as they were sent too, in percent-encoding, where the letters alone do not tell them apart.
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
        `warning: ${shown(registered)} was registered as a new agent; its name looks like that of the known agent ${shown(known)}. If that one was meant, record again with its name.`,
      ];
    return more === undefined ? [] : [`warning: ${shortLine(more, 10)} more new agents look like known ones.`];
  });
}

function shown(encoded: string): string {
  const name = decoded(encoded);
  const quoted = JSON.stringify(shortLine(name, 100));
  return /^[ -~]*$/.test(name) ? quoted : `${quoted} (${shortLine(encoded, 300)})`;
}

function decoded(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
