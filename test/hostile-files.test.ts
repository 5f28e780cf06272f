import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publicJwk } from '@countersign/core/domain/attestation';
import { decisionDigest, decisionFault } from '@countersign/core/domain/decision-signature';
import { parseLine } from '@countersign/core/domain/export-line';
import { openAttestation, readEnvelope } from '@countersign/core/domain/open-attestation';
import { trustedKeys } from '@countersign/core/domain/trusted-keys';
import { describe, expect, test } from 'vitest';
import { runCli } from '../packages/client/test/fixtures/run-cli.ts';
import { digests, sha256, verifyEd25519 } from '../packages/server/src/crypto/digests.ts';
import { runCommand } from '../packages/server/test/fixtures/run-command.ts';

/** A file of the corpus, the options to verify it, and the verdict that every verifier must return (examples/verify/hostile/README.md). */
interface Case {
  name: string;
  kind: 'audit' | 'decisions' | 'evidence' | 'keys' | 'traces' | 'attestation' | 'decision';
  file: string;
  verdict: 'valid' | 'refused';
  /** The number of the row that the verifier must report. Null: any row or none may be reported. */
  row: number | null;
  tenant?: string;
  head?: string;
  checkpoint?: string;
  audit?: string;
  /** An export of the evidence log, from which the decisions are computed again. */
  replay?: string;
  key?: string;
  /** Whether the output mentions an accepted restore, which explains why a head does not match. Undefined: not checked. */
  remark?: boolean;
}

/** The result of a verifier. */
interface Verdict {
  verdict: 'valid' | 'refused';
  row: number | null;
}

const folder = fileURLToPath(new URL('../examples/verify/hostile/', import.meta.url));
const pathOf = (name: string): string => join(folder, name);
const readText = (name: string): string => readFileSync(pathOf(name), 'utf8');
const { cases } = JSON.parse(readText('manifest.json')) as { cases: Case[] };
const logs = cases.filter(({ kind }) => kind !== 'attestation' && kind !== 'decision');
const documents = cases.filter(({ kind }) => kind === 'attestation' || kind === 'decision');
const keyOf = ({ key = 'first.vkey' }: Case): string => pathOf(key);

/** The command of the client takes a trust file with a separate option. */
const keyOptionOf = ({ key }: Case, keyOption: string): string =>
  keyOption === '--verify-key' && key?.endsWith('.json') === true ? '--trust' : keyOption;

/** The options for the command of the server or of the client, to verify an export. */
function exportOptions(each: Case, tenantOption: string, keyOption: string): string[] {
  const { kind, tenant, head, checkpoint, audit, replay } = each;
  return [
    ...['--log', kind, '--json'],
    ...(tenant === undefined ? [] : [tenantOption, tenant]),
    ...(head === undefined ? [] : ['--head', head]),
    ...(audit === undefined ? [] : ['--audit', pathOf(audit)]),
    ...(replay === undefined ? [] : ['--replay', pathOf(replay)]),
    ...(checkpoint === undefined ? [] : ['--checkpoint', pathOf(checkpoint), keyOptionOf(each, keyOption), keyOf(each)]),
  ];
}

/** Status 0 means valid. Status 1 means refused, and so does 2, the status of a usage error. Any other status fails the test. */
function verdictOf(status: number, out: string, rowIn: (answer: Record<string, never>) => number | undefined): Verdict {
  expect([0, 1, 2]).toContain(status);
  const row = status === 1 ? rowIn(JSON.parse(out)) : undefined;
  return { verdict: status === 0 ? 'valid' : 'refused', row: row ?? null };
}

/** Expects the output to mention an accepted restore if `remark` is true, and not to mention one if it is false. */
function expectRemark({ remark }: Case, out: string): void {
  if (remark !== undefined) expect(out.includes('ledger.restore_accepted')).toBe(remark);
}

const expectedVerdict = ({ verdict, row }: Case): Verdict => ({ verdict, row });
/** The verdict, with the row only if the manifest has one. Otherwise a verifier may report any row or none. */
const comparableVerdict = (each: Case, { verdict, row }: Verdict): Verdict => ({ verdict, row: each.row === null ? null : row });

describe('the verifiers in TypeScript', () => {
  test('the corpus has more than 120 exports and more than 60 other documents', () => {
    expect(logs.length).toBeGreaterThan(120);
    expect(documents.length).toBeGreaterThan(60);
  });

  test.each(logs)('the server returns the verdict of the manifest for $name', async (each) => {
    const { status, out } = await runCommand(
      {},
      'ledger',
      'verify',
      '--file',
      pathOf(each.file),
      ...exportOptions(each, '--tenant', '--key'),
    );
    const verdict = verdictOf(status, out, ({ first_bad: bad }: { first_bad?: { seq: number } }) => bad?.seq);
    expect(comparableVerdict(each, verdict)).toEqual(expectedVerdict(each));
    expectRemark(each, out);
  });

  test.each(logs)('the client returns the verdict of the manifest for $name', async (each) => {
    const { status, out } = await runCli([
      'verify',
      'ledger',
      pathOf(each.file),
      ...exportOptions(each, '--workspace', '--verify-key'),
    ]);
    const verdict = verdictOf(status, out, ({ seq }: { seq?: number }) => seq);
    expect(comparableVerdict(each, verdict)).toEqual(expectedVerdict(each));
    expectRemark(each, out);
  });

  test.each([
    ['broken', 'audit-extra-member.ndjson', [1, expect.stringMatching(/^broken: the audit ledger/), '']],
    ['of another log', 'keys-whole.ndjson', [2, '', expect.stringContaining('--audit must be the export of the audit ledger')]],
  ])('the server and the client report an export given with --audit that is %s', async (_what, audit, result) => {
    const options = ['--log', 'decisions', '--audit', pathOf(audit)];
    const server = await runCommand({}, 'ledger', 'verify', '--file', pathOf('decisions-whole.ndjson'), ...options);
    const client = await runCli(['verify', 'ledger', pathOf('decisions-whole.ndjson'), ...options]);
    for (const { status, out, err } of [server, client]) expect([status, out, err]).toEqual(result);
  });

  test.each(documents)('the client returns the verdict of the manifest for $name', async (each) => {
    const key = each.kind === 'decision' ? pathOf('decision.key') : keyOf(each);
    const { status } = await runCli(['verify', 'decision', pathOf(each.file), '--verify-key', key]);
    expect(verdictOf(status, '{}', () => undefined)).toEqual(expectedVerdict(each));
  });

  test.each(documents.filter(({ key }) => key?.endsWith('.jwks') !== true))(
    'the domain, with the cryptography of the server, returns the verdict of the manifest for $name',
    (each) => {
      const fault =
        each.kind === 'decision'
          ? hmacFault(readText(each.file))
          : attestationFault(readText(each.file), readFileSync(keyOf(each), 'utf8'));
      expect({ verdict: fault === undefined ? 'valid' : 'refused', row: null, fault }).toMatchObject(expectedVerdict(each));
    },
  );
});

function attestationFault(envelope: string, vkey: string): string | undefined {
  const read = readEnvelope(envelope);
  if ('fault' in read) return read.fault;
  const keys = trustedKeys(vkey, sha256)!.map(({ publicKey }) => ({ keyid: publicJwk(publicKey, sha256).kid, publicKey }));
  const opened = openAttestation(read.envelope, keys, verifyEd25519, (decision) => decisionDigest(decision, digests));
  return 'fault' in opened ? opened.fault : undefined;
}

function hmacFault(decision: string): string | undefined {
  const read = parseLine(decision, 'the decision');
  if ('fault' in read) return read.fault;
  return decisionFault(read.value as Record<string, unknown>, Buffer.from(readText('decision.key'), 'hex'), digests);
}
