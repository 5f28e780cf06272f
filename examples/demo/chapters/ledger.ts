import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PromotionDecision } from '@countersign/core/contract/promotion-check';
import type { Api } from '../api.ts';
import { type Narrator, Unexpected } from '../narrator.ts';
import { type Operator, run } from '../operator.ts';

const VERIFIER = fileURLToPath(new URL('../../verify/verify.py', import.meta.url));

/** An entry of an export, as far as the tour looks at it. */
interface Entry {
  seq: number;
  recorded_by: string;
  action: string;
  subject: string | null;
  row_hash: string;
}

/** What the last chapter looks at: what happened before it. */
interface Story {
  workspace: string;
  decision: PromotionDecision;
  decisionKey: string;
  /** A row_hash that was answered; it must be in the ledger. */
  keptHash: string;
}

/** Everything that happened is in one chain, which anybody can check; and a change shows. */
export async function theWholeStory(narrator: Narrator, api: Api, operator: Operator, story: Story): Promise<void> {
  narrator.chapter(
    'The whole story, and the proof that nobody rewrote it',
    'What people did, what CI wrote and each answer that blocked stand in one chain. An auditor takes the export along (here a temporary file, removed at the end):',
  );
  const folder = await mkdtemp(join(tmpdir(), 'countersign-tour-'));
  try {
    const file = join(folder, 'ledger.ndjson');
    await operator.run(['ledger', 'verify', '--workspace', story.workspace]);
    await operator.run(['ledger', 'export', '--workspace', story.workspace, '--output', file]);
    const entries = await readEntries(file);
    for (const { seq, action, subject, recorded_by: by } of entries)
      narrator.answer(`${String(seq).padEnd(4)}${action.padEnd(24)} ${(subject ?? '').padEnd(14)} by ${by}`);
    const byGate = entries.filter(({ recorded_by: by }) => by === 'system:promotion-gate').length;
    narrator.holds('each of the blocked answers is among them', api.blocked, byGate);
    const kept = entries.some(({ row_hash: hash }) => hash === story.keptHash);
    narrator.holds('and so is the row_hash that CI kept', true, kept);
    await askPython(narrator, folder, file, story);
    await tamper(narrator, operator, folder, file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  narrator.why('an auditor does not have to trust you, or us: the formats are documented byte for byte, in docs/formats.md.');
}

const readEntries = async (file: string): Promise<Entry[]> =>
  (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry);

/** The verifier in Python shares no code with the server. Where there is no Python, the tour says so and goes on. */
async function askPython(narrator: Narrator, folder: string, file: string, { decision, decisionKey }: Story): Promise<void> {
  if ((await run('python3', ['--version'])).code !== 0)
    return narrator.say('(python3 is not on this machine; with it, examples/verify/verify.py checks all this without our code.)');
  narrator.next('A second verifier, in Python, shares no code with the server:');
  const [answer, key] = [join(folder, 'decision.json'), join(folder, 'decision-key')];
  await writeFile(answer, JSON.stringify(decision));
  await writeFile(key, decisionKey, { mode: 0o600 });
  await verify(narrator, ['ledger', file]);
  await verify(narrator, ['decision', answer, '--key-file', key]);
}

async function verify(narrator: Narrator, args: string[]): Promise<void> {
  narrator.act(`$ python3 examples/verify/verify.py ${args.join(' ')}`);
  const { code, stdout, stderr } = await run('python3', [VERIFIER, ...args]);
  if (code !== 0) throw new Unexpected(`verify.py ${args[0]}: expected exit code 0, got ${code}; ${stdout}${stderr}`);
  narrator.answer(stdout.trimEnd());
}

/** Makes a blocked answer look like an allowed one in a copy of the export. */
async function tamper(narrator: Narrator, operator: Operator, folder: string, file: string): Promise<void> {
  narrator.next('Now somebody would rather not have been blocked, and edits one word in a copy:');
  const copy = join(folder, 'edited.ndjson');
  await writeFile(copy, (await readFile(file, 'utf8')).replace('"action":"evaluation.failed"', '"action":"promotion.allowed"'));
  const said = await operator.run(['ledger', 'verify', '--file', copy], { code: 1 });
  narrator.holds('the row that was altered is named', true, said.includes('the row was altered'));
}
