import { errorText } from './error-text.ts';

/** Members with free content, which are left out if a text is too long. */
const FREE_MEMBERS: ReadonlySet<string> = new Set(['input', 'output', 'messages', 'tool_arguments', 'tool_result', 'metadata']);

/** The member of `metadata` that lists what was left out, and why. */
const LEFT_OUT = 'countersign_left_out';

/**
 * The JSON text of a span or of a trace's own members. A member that is not JSON (a circular reference, a BigInt) is left out. If the text
 * is longer than `unitsMax` UTF-16 units, the longest members with free content are left out too. `metadata` lists all of them. The other
 * members are kept, even if the text stays too long.
 */
export function boundedDocument(document: Readonly<Record<string, unknown>>, unitsMax: number): string {
  const whole = textOf(document);
  if (whole.text !== undefined && whole.text.length <= unitsMax) return whole.text;
  const kept: Record<string, unknown> = { ...document };
  const leftOut: Record<string, string> = {};
  const leaveOut = (name: string, why: string) => {
    delete kept[name];
    leftOut[name] = why;
  };
  const sizes = Object.entries(document).flatMap(([name, value]) => {
    const { text, fault } = textOf(value);
    if (text === undefined && value !== undefined) leaveOut(name, fault ?? 'it is not JSON');
    return text !== undefined && FREE_MEMBERS.has(name) ? [{ name, size: text.length }] : [];
  });
  for (const { name, size } of sizes.sort((one, other) => other.size - one.size)) {
    if (withLeftOut(kept, leftOut).length <= unitsMax) break;
    leaveOut(name, `too long: ${size} characters`);
  }
  return withLeftOut(kept, leftOut);
}

const withLeftOut = (kept: Record<string, unknown>, leftOut: Record<string, string>): string =>
  JSON.stringify({ ...kept, metadata: { ...(kept.metadata as object | undefined), [LEFT_OUT]: leftOut } });

function textOf(value: unknown): { text?: string; fault?: string } {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? {} : { text };
  } catch (error) {
    return { fault: errorText(error).split('\n')[0]! };
  }
}
