/**
 * Writes docs/client-api.md from the docstrings: `npm run docs:client`. It shows what the package exports, as its declarations say it;
 * a test holds the page current.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { declarations } from './declarations.js';

const home = fileURLToPath(new URL('../', import.meta.url));

/** Sections of the page, by the files that the exports stand in. What no section claims is an error. */
const SECTIONS: readonly [title: string, files: RegExp][] = [
  ['The client', /^(countersign|client-options|log)\.d\.ts$|^http\/(transport|retry-pace|fetch-like|receipt)\.d\.ts$|^version/],
  ['Evaluations, audit entries, governance', /^namespaces\//],
  ['Telemetry', /^telemetry\//],
  ['Traces', /^tracing\//],
  ['Verification', /^verification\//],
  ['Errors', /^http\/errors/],
  ['The contract', /^wire\//],
];

const INTRODUCTION = `# The client library, by its docstrings

Made by \`npm run docs:client\` from what \`@countersign/client\` exports. How it is used: [its README](../packages/client/README.md).
`;

/** One export: where it stands, what is said of it, and its declaration without the docstring. */
interface Export {
  file: string;
  name: string;
  said: string;
  code: string;
}

/** The whole page. Throws when an export has no docstring, or no section. */
export function apiPage(): string {
  const files = declarations(home);
  const found = exportsOf(files.get('index.d.ts')!).flatMap(([path, names]) => {
    const text = files.get(path)!;
    return (names ?? exportedNames(text)).map((name) => exportOf(path, text, name));
  });
  const homeless = found.find(({ file }) => !SECTIONS.some(([, claims]) => claims.test(file)));
  if (homeless !== undefined) throw new Error(`no section claims ${homeless.file}`);
  const sections = SECTIONS.map(([title, claims]) => {
    const inside = found.filter(({ file }) => claims.test(file)).map(shown);
    return `## ${title}\n\n${inside.join('\n')}`;
  });
  return [INTRODUCTION, ...sections].join('\n');
}

/** What index.d.ts passes on: files, and names, or undefined for all of a file. */
const exportsOf = (index: string): [path: string, names: string[] | undefined][] =>
  [...index.matchAll(/^export (?:type )?(?:\*|\{([^}]*)\}) from '\.\/(.+)\.js';$/gm)].map(([, list, path]) => [
    `${path}.d.ts`,
    list
      ?.split(',')
      .map((name) => name.replace(/^\s*type\s/, '').trim())
      .filter((name) => name !== ''),
  ]);

const DECLARED = 'export (?:declare )?(?:class|interface|type|const|function)';

const exportedNames = (text: string): string[] =>
  [...text.matchAll(new RegExp(`^${DECLARED} (\\w+)`, 'gm'))].map(([, name]) => name!);

function exportOf(file: string, text: string, name: string): Export {
  const start = text.search(new RegExp(`^${DECLARED} ${name}\\b`, 'm'));
  const before = text.slice(0, Math.max(start, 0)).trimEnd();
  if (start < 0 || !before.endsWith('*/')) throw new Error(`${name} of ${file} has no docstring`);
  const said = before
    .slice(before.lastIndexOf('/**') + 3, -2)
    .replaceAll(/^[ \t]*\* ?/gm, '')
    .trim();
  const code = text
    .slice(start, endOf(text, start))
    .replace(/^export (declare )?/, '')
    .replaceAll(/^ +#private;\n/gm, '')
    .replaceAll(/^( +)/gm, (indent) => indent.slice(indent.length / 2));
  return { file, name, said, code };
}

/** Where a declaration ends: with the brace, or the semicolon, that stands outside of all others. Docstrings are passed over. */
function endOf(text: string, start: number): number {
  let depth = 0;
  const parts = /\/\*[\s\S]*?\*\/|'[^'\n]*'|=>|[{}()[\];<>]/g;
  parts.lastIndex = start;
  const isBlock = /^export (?:declare )?(?:class|interface)/.test(text.slice(start));
  for (let part = parts.exec(text); part !== null; part = parts.exec(text)) {
    const [sign] = part;
    if (sign.length > 1) continue;
    if ('{(['.includes(sign)) depth += 1;
    if ('})]'.includes(sign)) depth -= 1;
    if (depth === 0 && (isBlock ? sign === '}' : sign === ';')) return part.index + 1;
  }
  return text.length;
}

const shown = ({ name, said, code }: Export): string =>
  `### ${name}\n\n${paragraphs(said)}\n\n\`\`\`ts\n${code.trimEnd()}\n\`\`\`\n`;

/** A docstring as Markdown: its tags as a list. */
const paragraphs = (said: string): string =>
  said
    .replaceAll(/^@(\w+) ?/gm, '- *$1* ')
    .replaceAll('@link ', '')
    .replace(/\n- /, '\n\n- ');

if (import.meta.main) writeFileSync(new URL('../../../docs/client-api.md', import.meta.url), apiPage());
