import type { Command } from './command.ts';
import { EXIT_CODES } from './exit-codes.ts';
import { COMMON, type Option } from './options.ts';

const WIDTH = 110;

/** The help of the whole program. */
export function overview(commands: readonly Command[]): string {
  const names = commands.map(({ name, summary }) => row(name, summary, 18));
  return `Countersign for CI jobs: record evaluations of agents, and deploy only what the gate allows.

Usage: countersign <command> [options]

Commands:
${names.join('\n')}

countersign <command> --help shows its options; countersign --version prints the version.

Environment:
${row('COUNTERSIGN_API_KEY', 'the ingestion key; no option takes the key, but --key-stdin reads it from standard input', 28)}
${row('COUNTERSIGN_URL', 'address of the service', 28)}
${row('COUNTERSIGN_TRUST_FILE', 'path of the trust file, as for --trust', 28)}
${row('COUNTERSIGN_TRUST', 'the content of the trust file; ignored if a path is given', 28)}
${row('COUNTERSIGN_VERIFY_KEY', 'the key that verifies decisions; ignored with a trust file', 28)}
${row('COUNTERSIGN_VERIFY_KEY_FILE', 'path of a file with the key that verifies decisions; ignored with a trust file', 28)}
${row('COUNTERSIGN_PORTAL_URL', 'address of the portal for approvers (default: the address of the service)', 28)}

Exit codes:
${exitCodes()}
`;
}

/** The help of the commands that start with the same word. */
export function groupHelp(word: string, commands: readonly Command[]): string {
  return `Usage: countersign ${word} <command> [options]

Commands:
${commands.map(({ name, summary }) => row(name, summary, 18)).join('\n')}

countersign <command> --help shows its options.
`;
}

/** The help of one command. */
export function helpOf({ name, summary, arguments: rest, options, examples, notes }: Command): string {
  const lines = Object.entries({ ...options, ...COMMON }).map(([option, spec]) => row(optionSyntax(option, spec), spec.help, 28));
  return `${summary}

Usage: countersign ${name}${rest === undefined ? '' : ` ${rest}`} [options]

Options:
${lines.join('\n')}

Examples:
${examples.map((line) => `  $ ${line}`).join('\n')}
${notes === undefined ? '' : `\n${notes}\n`}
Exit codes:
${exitCodes()}
`;
}

function optionSyntax(name: string, { short, value, type }: Option): string {
  return `${short === undefined ? '' : `-${short}, `}--${name}${type === 'string' ? ` ${value ?? 'TEXT'}` : ''}`;
}

const exitCodes = (): string =>
  Object.values(EXIT_CODES)
    .map(({ status, meaning }) => row(String(status), meaning, 4))
    .join('\n');

/** A name and its meaning, wrapped and indented. */
function row(name: string, meaning: string, width: number): string {
  const lines: string[] = [''];
  for (const word of meaning.split(' ')) {
    const line = lines.at(-1)!;
    if (line !== '' && width + 2 + line.length + word.length + 1 > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  const indent = ' '.repeat(width + 2);
  const head = name.length < width ? `  ${name.padEnd(width)}` : `  ${name}\n${indent}`;
  return head + lines.join(`\n${indent}`);
}
