import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PromotionDecision } from '@countersign/core/contract/promotion-check';
import type { Api } from '../api.ts';
import { CheckFailedError, type Narrator } from '../narrator.ts';
import { type Operator, run } from '../operator.ts';

const VERIFIER = fileURLToPath(new URL('../../verify/verify.py', import.meta.url));

/** The members of an exported entry that the tour uses. */
interface Entry {
  seq: number;
  recorded_by: string;
  action: string;
  subject: string | null;
  row_hash: string;
}

/** What the earlier chapters produced. */
interface LedgerInput {
  workspace: string;
  decision: PromotionDecision;
  decisionKey: string;
  /** A row_hash from a response to CI. It must be in the ledger. */
  ciRowHash: string;
}

/** Verifies the audit ledger with the server's command and in Python, and shows that a change is detected. */
export async function verifyLedger(narrator: Narrator, api: Api, operator: Operator, input: LedgerInput): Promise<void> {
  narrator.startChapter(
    'Verification: the ledger was not rewritten',
    'One chain contains the actions of people, the entries of CI and each blocked decision. ' +
      'An auditor gets an export of it (here a temporary file, removed at the end):',
  );
  const folder = await mkdtemp(join(tmpdir(), 'countersign-tour-'));
  try {
    const file = join(folder, 'ledger.ndjson');
    await operator.run(['ledger', 'verify', '--workspace', input.workspace]);
    await operator.run(['ledger', 'export', '--workspace', input.workspace, '--output', file]);
    const entries = await readEntries(file);
    for (const { seq, action, subject, recorded_by: by } of entries)
      narrator.printOutput(`${String(seq).padEnd(4)}${action.padEnd(24)} ${(subject ?? '').padEnd(14)} by ${by}`);
    const gateEntryCount = entries.filter(({ recorded_by: by }) => by === 'system:promotion-gate').length;
    narrator.check('the export contains each blocked decision', api.blockedDecisionCount, gateEntryCount);
    const isInExport = entries.some(({ row_hash: hash }) => hash === input.ciRowHash);
    narrator.check('the export contains the row_hash that CI kept', true, isInExport);
    await verifyInPython(narrator, folder, file, input);
    await tamper(narrator, operator, folder, file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  narrator.explainWhy(
    'an auditor does not have to trust you or the authors of Countersign. docs/formats.md documents the formats byte for byte.',
  );
}

const readEntries = async (file: string): Promise<Entry[]> =>
  (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry);

/** The verifier in Python shares no code with the server. Without Python, the tour says so and continues. */
async function verifyInPython(
  narrator: Narrator,
  folder: string,
  file: string,
  { decision, decisionKey }: LedgerInput,
): Promise<void> {
  if ((await run('python3', ['--version'])).code !== 0)
    return narrator.say(
      '(python3 is not installed. With it, examples/verify/verify.py verifies the ledger and the decision independently.)',
    );
  narrator.introduce('A second verifier, in Python, shares no code with the server:');
  const [decisionFile, keyFile] = [join(folder, 'decision.json'), join(folder, 'decision-key')];
  await writeFile(decisionFile, JSON.stringify(decision));
  await writeFile(keyFile, decisionKey, { mode: 0o600 });
  await verify(narrator, ['ledger', file]);
  await verify(narrator, ['decision', decisionFile, '--key-file', keyFile]);
}

async function verify(narrator: Narrator, args: string[]): Promise<void> {
  narrator.printAction(`$ python3 examples/verify/verify.py ${args.join(' ')}`);
  const { code, stdout, stderr } = await run('python3', [VERIFIER, ...args]);
  if (code !== 0) throw new CheckFailedError(`verify.py ${args[0]}: expected exit code 0, got ${code}; ${stdout}${stderr}`);
  narrator.printOutput(stdout.trimEnd());
}

/** Makes a blocked decision look like an allowed one in a copy of the export. The verifier must find the altered row. */
async function tamper(narrator: Narrator, operator: Operator, folder: string, file: string): Promise<void> {
  narrator.introduce('An attacker edits one value in a copy, to make a blocked decision look allowed:');
  const copy = join(folder, 'edited.ndjson');
  await writeFile(copy, (await readFile(file, 'utf8')).replace('"action":"evaluation.failed"', '"action":"promotion.allowed"'));
  const output = await operator.run(['ledger', 'verify', '--file', copy], { code: 1 });
  narrator.check('the verifier names the altered row', true, output.includes('the row was altered'));
}
