import { VARIABLES } from '../config/variables.ts';
import { EXIT_CODES } from '../errors/exit-codes.ts';

/** Wraps a text to lines of at most `width` characters. Every line but the first is indented. */
function wrap(text: string, indent: number, width = 100): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && indent + line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join('\n' + ' '.repeat(indent));
}

const exitCodeLines = (): string =>
  Object.values(EXIT_CODES)
    .map(({ status, meaning }) => `  ${String(status).padEnd(4)}${wrap(meaning, 6)}`)
    .join('\n');

const variableLines = (): string =>
  Object.values(VARIABLES)
    .map(({ name, default: fallback, meaning }) => {
      const meaningWithDefault = fallback === undefined ? meaning : `${meaning} (default: ${fallback})`;
      return `  ${name}\n      ${wrap(meaningWithDefault, 6)}`;
    })
    .join('\n');

/** The text after the list of commands: examples, the exit codes and the environment variables. */
export const epilogue = (): string => `
Examples:
  $ countersign-server serve
  $ countersign-server workspace create --name acme
  $ countersign-server keys mint --workspace acme --name ci --scopes telemetry,evaluations,audit,governance
  $ countersign-server ledger verify --workspace acme

Data goes to stdout, messages go to stderr. \`serve\` writes its log to stdout. Every command takes
--json; an error is then { "error": <reason>, "message": <text> } on stderr. Most commands work
whether or not the server is running; the help of a command says if you must stop it. These commands
create the embedded database, or the tables in your own PostgreSQL, if they do not exist: serve,
migrate, restore, workspace create. Other commands that need a database exit with 8 if it or its
tables do not exist.

Exit codes:
${exitCodeLines()}

Environment:
${variableLines()}
`;

/** The examples in the help of a command. */
export const examples = (...lines: string[]): string =>
  '\nExamples:\n' + lines.map((line) => `  $ countersign-server ${line}`).join('\n') + '\n';
