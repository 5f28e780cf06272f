import { errorText } from './error-text.ts';

/** Members with free content, which are left out if a text is too long. */
const FREE_MEMBERS: ReadonlySet<string> = new Set(['input', 'output', 'messages', 'tool_arguments', 'tool_result', 'metadata']);

/** The member of `metadata` that lists the left-out members, each with the reason. */
const LEFT_OUT_MEMBER = 'countersign_left_out';

/**
 * The JSON text of a span or of a trace's own members. A member that is not JSON (a circular reference, a BigInt) is left out. If the text
 * is longer than `unitsMax` UTF-16 units, the longest members with free content are left out too. `metadata` lists all left-out members.
 * The other members are kept, even if the text stays too long.
 */
export function boundedDocument(document: Readonly<Record<string, unknown>>, unitsMax: number): string {
  const whole = textOf(document);
  if (whole.text !== undefined && whole.text.length <= unitsMax) return whole.text;
  const keptMembers: Record<string, unknown> = { ...document };
  const reasons: Record<string, string> = {};
  const leaveOut = (name: string, why: string) => {
    delete keptMembers[name];
    reasons[name] = why;
  };
  const sizes = Object.entries(document).flatMap(([name, value]) => {
    const { text, fault } = textOf(value);
    if (text === undefined && value !== undefined) leaveOut(name, fault ?? 'it is not JSON');
    return text !== undefined && FREE_MEMBERS.has(name) ? [{ name, size: text.length }] : [];
  });
  for (const { name, size } of sizes.sort((one, other) => other.size - one.size)) {
    if (withLeftOut(keptMembers, reasons).length <= unitsMax) break;
    leaveOut(name, `too long: ${size} characters`);
  }
  return withLeftOut(keptMembers, reasons);
}

const withLeftOut = (keptMembers: Record<string, unknown>, reasons: Record<string, string>): string =>
  JSON.stringify({ ...keptMembers, metadata: { ...(keptMembers.metadata as object | undefined), [LEFT_OUT_MEMBER]: reasons } });

function textOf(value: unknown): { text?: string; fault?: string } {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? {} : { text };
  } catch (error) {
    return { fault: errorText(error).split('\n')[0]! };
  }
}
