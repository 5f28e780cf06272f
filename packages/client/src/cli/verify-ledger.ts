import { ConfigurationError, type LedgerVerdict, verifyLedger as verifyExport } from '../index.ts';
import { command } from './command.ts';
import { wrongUse } from './exit-codes.ts';
import { readChunks, readTextFile } from './files.ts';
import { readOneOf } from './option-values.ts';
import type { Options } from './options.ts';
import { shortLine } from './plain-text.ts';
import type { Session } from './session.ts';
import { readTrustSettings, TRUST } from './trust-settings.ts';

const OPTIONS = {
  log: { type: 'string', value: 'LOG', help: 'audit, decisions, evidence, keys or traces (default: audit)' },
  audit: {
    type: 'string',
    value: 'FILE',
    help: 'for logs other than audit: the export of the audit ledger, which contains the clock corrections and accepted restores',
  },
  replay: {
    type: 'string',
    value: 'FILE',
    help: 'for decisions: the export of the evidence log, from which every decision is computed again',
  },
  checkpoint: {
    type: 'string',
    multiple: true,
    value: 'FILE',
    help: 'a checkpoint that you kept; needs a trust file or a public key',
  },
  head: { type: 'string', multiple: true, value: 'HEADER', help: 'a Countersign-Checkpoint header that you kept' },
  ...TRUST,
  'verify-key': {
    type: 'string',
    multiple: true,
    value: 'FILE',
    help: 'instead of --trust: the public key of the instance, for checkpoints',
  },
} as const satisfies Options;

/** The maximum size of a checkpoint file, in bytes. */
const CHECKPOINT_BYTES_MAX = 64 * 1024;

/** `verify ledger`: checks an export offline. */
export const verifyLedger = command({
  name: 'verify ledger',
  arguments: 'FILE',
  takesArguments: true,
  summary: 'Verify the export in FILE (- for standard input) without the service, and name the first invalid row.',
  options: OPTIONS,
  examples: [
    'countersign verify ledger acme.ndjson --checkpoint kept/acme.checkpoint --verify-key instance.vkey',
    'countersign verify ledger decisions.ndjson --log decisions --replay evidence.ndjson',
    "countersign verify ledger acme.ndjson --head 'audit;size=6;root=:IDJ0qJDVQ1zs/VT2MPQi0rivrX3BPnVjypyYrhQfFpY=:'",
  ],
  notes:
    'An export alone cannot show that its newest rows are missing or that all rows were replaced. Give a checkpoint or head that you kept.',
  async run(session, values, [path, ...more]) {
    if (path === undefined || more.length > 0) throw wrongUse('give one FILE with an export');
    const trustSettings = readTrustSettings(session, values);
    const trust = {
      log: readOneOf('--log', values.log ?? 'audit', ['audit', 'decisions', 'evidence', 'keys', 'traces']),
      tenantId: trustSettings.workspace,
      checkpoints: (values.checkpoint ?? []).map((file) => readTextFile(file, CHECKPOINT_BYTES_MAX)),
      heads: values.head ?? [],
      publicKeys: trustSettings.publicText === '' ? undefined : trustSettings.publicText,
    };
    const verdict = await verifyStream(session, path, {
      ...trust,
      ...(values.audit === undefined ? {} : { audit: readChunks(values.audit) }),
      ...(values.replay === undefined ? {} : { replay: readChunks(values.replay) }),
    });
    if (!verdict.ok && verdict.misfit) throw wrongUse(verdict.fault);
    session.writeResult(verdict.ok ? { whole: true, ...verdict, ok: undefined } : { whole: false, ...verdict, ok: undefined }, [
      sentenceOf(verdict),
    ]);
    return verdict.ok ? 'ok' : 'no';
  },
});

async function verifyStream(session: Session, path: string, trust: Parameters<typeof verifyExport>[1]): Promise<LedgerVerdict> {
  const lines = path === '-' ? [await session.terminal.input()] : readChunks(path);
  try {
    return await verifyExport(lines, trust);
  } catch (error) {
    if (error instanceof ConfigurationError) throw wrongUse(withOptionNames(error.message), error);
    throw error;
  }
}

/** Replaces the option names of the library by those of the command. */
const withOptionNames = (message: string): string =>
  message
    .replace('publicKeys', '--verify-key')
    .replace(/^(audit|replay) (is|must)/, '--$1 $2')
    .replace(': log must', ': --log must')
    .replace(/^(head|checkpoint)s\[(\d+)\]/, (_, name, index) => `--${name} number ${Number(index) + 1}`);

function keptHeadsText(count: number): string {
  if (count === 0) return '';
  return `, matches ${count === 1 ? 'the kept head' : `all ${count} kept heads`}`;
}

const UNCHECKED = '; times were not checked: give --audit';

function sentenceOf(verdict: LedgerVerdict): string {
  if (verdict.ok) {
    const count = verdict.entries === 1 ? '1 entry' : `${verdict.entries} entries`;
    const head = verdict.head === null ? '' : `, head ${verdict.head}`;
    return `valid: ${count}${head}${keptHeadsText(verdict.headsMet)}${verdict.timesChecked ? '' : UNCHECKED}`;
  }
  const where = verdict.seq === undefined ? 'broken' : `broken at seq ${verdict.seq}`;
  return `${where}: ${shortLine(verdict.fault, 900)}`;
}
