import { writeFileSync } from 'node:fs';
import { publicJwk } from '@countersign/core/domain/attestation';
import { canonicalJson } from '@countersign/core/domain/canonical-json';
import { decisionDigest } from '@countersign/core/domain/decision-signature';
import { hashKeyEvent, type KeyEvent } from '@countersign/core/domain/key-event';
import { openAttestation } from '@countersign/core/domain/open-attestation';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { digests, sha256, verifyEd25519 } from '../../src/crypto/digests.ts';
import { mintKey } from '../../src/workspace/ingestion-keys.ts';
import { portalClient } from '../harness/portal-client.ts';
import { CHECKS, LedgerUnderAttack, type ToolResult } from './ledger-under-attack.ts';

let scenario: LedgerUnderAttack;
beforeAll(async () => {
  scenario = await LedgerUnderAttack.make();
});
afterEach(() => scenario.undo());

const sql = <Row extends object>(statement: string, values: unknown[] = []) =>
  scenario.insider.sql<Row & Record<string, unknown>>(statement, scenario.tenantId, values);
const broken = (output: RegExp): ToolResult => ({ status: 1, output: expect.stringMatching(output) });
const OTHER_TENANT_FAULT = /^broken at seq 2: tenant_id is not .*: the decision belongs to another tenant/;
const valid = { status: 0, output: expect.stringMatching(/^valid/) };

type Decision = Record<string, unknown> & { response_sha256: string };
const decisionAt = async (seq: number, tenantId = scenario.tenantId): Promise<Decision> => {
  const statement = `SELECT document FROM countersign.decisions WHERE $T AND seq = ${seq}`;
  return JSON.parse((await scenario.insider.sql<{ document: string }>(statement, tenantId))[0]!.document);
};

/** Replaces a decision: its document, and the columns that repeat members of the document, except `recorded_by`. */
const putDecision = (seq: number, decision: Decision) =>
  sql(
    `UPDATE countersign.decisions SET document = $1::text, id = (d ->> 'decision_id')::uuid, response_sha256 = decode(d ->> 'response_sha256', 'hex'),
            allowed = (d ->> 'allowed')::boolean, reason = d ->> 'reason', event = d ->> 'event', agent_id = (d ->> 'agent_id')::uuid,
            evaluation_id = (d ->> 'evaluation_id')::uuid, recorded_at = (d ->> 'timestamp')::timestamptz
       FROM (SELECT $2::jsonb AS d) AS replacement WHERE $T AND seq = ${seq}`,
    [JSON.stringify(decision), JSON.stringify(decision)],
  );
const withDigest = (decision: Decision): Decision => ({ ...decision, response_sha256: decisionDigest(decision, digests) });

test('every tool reports the decisions and the key events as valid when nothing was changed', async () => {
  const results = {
    decisions: await scenario.runChecks('decisions', ...CHECKS),
    keys: await scenario.runChecks('keys', 'workspace', 'workspaceWithKeptCheckpoints'),
  };
  for (const result of Object.values(results).flatMap((each) => Object.values(each))) expect(result).toEqual(valid);
});

/** A different value for every member of a decision except its digest and its signature. */
const OTHER_VALUES = {
  allowed: true,
  reason: 'all_conditions_met',
  message: 'All good.',
  event: 'promotion.allowed',
  evaluation_id: '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24',
  agent_id: '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24',
  policy: 'none',
  threshold: 1,
  required_threshold: 1,
  actual_threshold: 100,
  evaluation_age: 0.5,
  evaluation: null,
  checks: [],
  decision_id: '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24',
  key_id: 'dk_other',
  timestamp: '2020-01-01T00:00:00.000Z',
  asked_by: 'key:abcdefabcdef',
  evidence_sha256: 'ab'.repeat(32),
  evidence_size: 99,
  harness_id: '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24',
  max_age_hours: 8760,
  tenant_id: '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24',
};

describe('an altered decision', () => {
  test('OTHER_VALUES covers every member of a decision except its digest and its signature', async () => {
    const names = Object.keys(await decisionAt(2)).filter((name) => !/^(response_sha256|signature.*)$/.test(name));
    expect(Object.keys(OTHER_VALUES).sort()).toEqual(names.sort());
  });

  test.each(Object.keys(OTHER_VALUES))(
    'the digest reveals a changed %s; after rehashing, the HMAC and a kept checkpoint reveal it',
    async (member) => {
      const altered = { ...(await decisionAt(2)), [member]: OTHER_VALUES[member as keyof typeof OTHER_VALUES] };
      await putDecision(2, altered);
      const afterChange = await scenario.runChecks('decisions', 'workspace', 'file', 'python');
      expect(afterChange.workspace).toEqual(broken(/^broken at seq 2: response_sha256 is .* it was altered/));
      expect(afterChange.file).toEqual(broken(/^broken at seq 2: response_sha256 is .* the decision was altered/));
      expect(afterChange.python).toEqual(broken(/^broken at line 2/));
      await putDecision(2, withDigest(altered));
      const afterRehash = await scenario.runChecks('decisions', 'workspace', 'file', 'python');
      expect(afterRehash.workspace).toEqual(broken(/^broken at seq 2: the signature is not by this key/));
      // A tenant_id that differs from the tenant_id of the previous rows is detected without a kept checkpoint.
      const isOtherTenant = member === 'tenant_id';
      expect(afterRehash.file).toEqual(
        broken(isOtherTenant ? OTHER_TENANT_FAULT : /first-decisions: the first 6 rows make the root/),
      );
      expect(afterRehash.python).toEqual(
        broken(isOtherTenant ? /^broken at line 2 .*belongs to tenant/ : /first-decisions.*does not match/),
      );
    },
  );

  test.each([
    ['allowed', 'NOT allowed'],
    ['reason', `'no_reason'`],
    ['event', `'promotion.none'`],
    ['agent_id', 'gen_random_uuid()'],
    ['evaluation_id', 'gen_random_uuid()'],
    ['id', 'gen_random_uuid()'],
    ['recorded_at', `recorded_at - interval '1 day'`],
    ['response_sha256', `sha256('x')`],
  ])('`ledger verify` reports a column %s that differs from the signed document', async (column, value) => {
    await sql(`UPDATE countersign.decisions SET ${column} = ${value} WHERE $T AND seq = 2`);
    expect(await scenario.runCheck('decisions', 'workspace')).toEqual(
      broken(new RegExp(`^broken at seq 2: the column ${column} says`)),
    );
  });

  test('every tool reports a document in which a member occurs twice', async () => {
    await sql(
      `UPDATE countersign.decisions SET document = replace(document, '{"allowed"', '{"allowed":true,"allowed"') WHERE $T AND seq = 2`,
    );
    const { workspace, file, python } = await scenario.runChecks('decisions', 'workspace', 'file', 'python');
    expect(workspace).toEqual(broken(/^broken at seq 2: .*its text was altered/));
    expect(file).toEqual(broken(/^broken at seq 2: .*given twice/));
    expect(python).toEqual(broken(/^broken at line 2/));
  });

  test.each([
    ['not JSON', 'gone'],
    ['deeply nested', `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`],
    ['not an object', '[]'],
    ['JSON with a lone surrogate', '{"key_id":"\\ud800","signature_alg":"HMAC-SHA256"}'],
  ])('`ledger verify` names the row of a document that is %s', async (_, text) => {
    await sql('UPDATE countersign.decisions SET document = $1 WHERE $T AND seq = 2', [text]);
    expect(await scenario.runCheck('decisions', 'workspace')).toEqual(broken(/^broken at seq 2: /));
  });
});

describe('a deleted decision that allowed a promotion', () => {
  const remove = () => sql(`DELETE FROM countersign.decisions WHERE $T AND id = '${scenario.allowedId}'`);

  test('the gap in seq reveals it', async () => {
    await remove();
    const { workspace, file, python } = await scenario.runChecks('decisions', 'workspace', 'file', 'python');
    expect(workspace).toEqual(broken(/^broken at seq 1: seq is 2, expected 1: a decision is missing/));
    expect(file).toEqual(broken(/^broken at seq 1: seq is 2, expected 1/));
    expect(python).toEqual(broken(/^broken/));
  });

  test('after renumbering, the stored checkpoints reveal it; without them, the seal and a kept checkpoint do', async () => {
    await remove();
    // In two steps, because the new number of a row can still belong to the previous row.
    await sql('UPDATE countersign.decisions SET seq = seq + 1000000 WHERE $T');
    await sql('UPDATE countersign.decisions SET seq = seq - 1000001 WHERE $T');
    await scenario.insider.regrow(scenario.tenantId, 'decisions');
    expect(await scenario.runCheck('decisions', 'workspace')).toEqual(broken(/the stored checkpoint of size \d+/));
    await scenario.insider.deleteCheckpoints(scenario.tenantId);
    const { workspace, workspaceWithKeptCheckpoints, file, python } = await scenario.runChecks('decisions', ...CHECKS);
    expect(workspace).toEqual(broken(/the stored head: its seal is not valid/));
    for (const result of [workspaceWithKeptCheckpoints, file])
      expect(result).toEqual(broken(/-decisions: .*(rewritten|cut off)/));
    expect(python).toEqual(broken(/-decisions.*(does not match|cut off)/));
  });
});

describe("a signature made with another tenant's key", () => {
  test('the HMAC check, and tenant_id in an export, reveal a decision of another tenant', async () => {
    await putDecision(2, await decisionAt(1, scenario.otherId));
    const { workspace, file } = await scenario.runChecks('decisions', 'workspace', 'file');
    expect(workspace).toEqual(broken(/^broken at seq 2: the signature is not by this key/));
    expect(file).toEqual(broken(OTHER_TENANT_FAULT));
  });

  test("the HMAC check rejects a decision of this tenant with the other tenant's signature", async () => {
    const [mine, theirs] = [await decisionAt(2), await decisionAt(1, scenario.otherId)];
    await putDecision(2, { ...mine, signature: theirs.signature });
    expect(await scenario.runCheck('decisions', 'workspace')).toEqual(
      broken(/^broken at seq 2: the signature is not by this key/),
    );
  });
});

describe('an attestation', () => {
  const envelopes = async (blockedId?: string) => {
    const reader = { name: 'auditor', scopes: ['read'] as const, expiresAt: null };
    const { open, url } = await scenario.server();
    const token = await mintKey(open.pool, scenario.tenantId, reader, 'operator');
    const get = async (path: string) => (await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })).json();
    const blocked = blockedId ?? (await decisionAt(2)).decision_id;
    return {
      allowed: (await get(`/api/ledger/decisions/${scenario.allowedId}/attestation`)) as Envelope,
      blocked: (await get(`/api/ledger/decisions/${blocked}/attestation`)) as Envelope,
    };
  };
  interface Envelope {
    payload: string;
    signatures: { keyid: string; sig: string }[];
  }
  const signingKeys = async () => (await scenario.server()).open.signer.keys;
  const openEnvelope = async (envelope: Envelope) => {
    const keys = (await signingKeys()).map(({ keyid, publicKey }) => ({ keyid, publicKey }));
    return openAttestation(envelope, keys, verifyEd25519, (decision) => decisionDigest(decision, digests));
  };
  const python = (envelope: Envelope) => {
    writeFileSync(scenario.auditorFile('envelope.json'), JSON.stringify(envelope));
    return scenario.python('attestation', scenario.auditorFile('envelope.json'), '--key', scenario.auditorFile('vkey'));
  };

  test('the signature check rejects a replaced or edited payload', async () => {
    const { allowed, blocked } = await envelopes();
    expect(await openEnvelope(blocked)).toHaveProperty('decision.allowed', false);
    expect((await python(blocked)).status).toBe(0);
    const forged = Buffer.from(blocked.payload, 'base64').toString().replace('"allowed":false', '"allowed":true');
    for (const payload of [allowed.payload, Buffer.from(forged).toString('base64')]) {
      expect(await openEnvelope({ ...blocked, payload })).toEqual({ fault: 'none of the known keys has signed it' });
      expect((await python({ ...blocked, payload })).status).toBe(1);
    }
  });

  test('the signature check rejects another signature under a known key ID', async () => {
    const { allowed, blocked } = await envelopes();
    const signatures = [{ ...blocked.signatures[0]!, sig: allowed.signatures[0]!.sig }];
    expect(await openEnvelope({ ...blocked, signatures })).toHaveProperty('fault');
    expect((await python({ ...blocked, signatures })).status).toBe(1);
    expect(publicJwk((await signingKeys())[0]!.publicKey, sha256).kid).toBe(blocked.signatures[0]!.keyid);
  });

  test('the server does not attest a decision that was altered in the database', async () => {
    await putDecision(2, withDigest({ ...(await decisionAt(2)), allowed: true }));
    const { blocked } = await envelopes();
    expect(blocked).toMatchObject({ error: 'log_rewritten' });
  });

  // The third value is the error of the portal. Undefined: the portal returns the decision, with a text in `altered`.
  test.each([
    ['is not JSON', () => '{', 'log_rewritten'],
    ['is not an object', () => '[]', 'log_rewritten'],
    ['has half of a surrogate pair', (text: string) => text.replace('"message":"', '"message":"\\ud800'), undefined],
    ['has no key_id', (text: string) => text.replace('"key_id":', '"other":'), undefined],
    [
      'is nested too deeply',
      (text: string) => text.replace(/}$/, `,"x":${'['.repeat(5_000)}${']'.repeat(5_000)}}`),
      'log_rewritten',
    ],
  ])(
    'the attestation and the portal report an altered decision if its stored document %s',
    async (_what, change, portalError) => {
      const decision = await decisionAt(2);
      const viewer = await portalClient(await scenario.server(), scenario.tenantId, 'viewer');
      await sql('UPDATE countersign.decisions SET document = $1::text WHERE $T AND seq = 2', [change(JSON.stringify(decision))]);
      expect((await envelopes(String(decision.decision_id))).blocked).toMatchObject({ error: 'log_rewritten' });
      const { body } = await viewer.callRoute('decisions.read', { params: { decision: String(decision.decision_id) } });
      expect(portalError === undefined ? (body.altered ?? body) : body.error).toEqual(portalError ?? expect.any(String));
    },
  );
});

describe('the key audit trail', () => {
  const eventAt = async (seq: number) =>
    JSON.parse(
      (await sql<{ document: string }>(`SELECT document FROM countersign.key_events WHERE $T AND seq = ${seq}`))[0]!.document,
    );

  test.each<[string, unknown, number?]>([
    ['recorded_by', 'user:3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24'],
    // The time of the first event is changed, because an earlier time in a later event is a fault by itself.
    ['recorded_at', '2020-01-01T00:00:00.000Z', 1],
    ['kind', 'read'],
    ['credential_sha256', 'ab'.repeat(32)],
    ['name', 'other'],
    ['prefix', 'abcdefabcdef'],
    ['scopes', ['read']],
    ['expires_at', '2020-01-01T00:00:00.000Z'],
    ['id', '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24'],
    ['key_id', '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24'],
  ])(
    'the hash reveals a changed %s; after rehashing, the stored tree and a kept checkpoint reveal it',
    async (member, value, seq = 2) => {
      const event = { ...(await eventAt(seq)), [member]: value } as KeyEvent;
      const put = (hash: string) =>
        sql(
          `UPDATE countersign.key_events SET document = $1::text, event_hash = decode($2, 'hex'), id = $3, key_id = $4, recorded_by = $5,
                recorded_at = $6::timestamptz, action = $7 WHERE $T AND seq = ${seq}`,
          [canonicalJson(event), hash, event.id, event.key_id, event.recorded_by, event.recorded_at, event.action],
        );
      await put(
        (
          await sql<{ h: string }>(`SELECT encode(event_hash, 'hex') AS h FROM countersign.key_events WHERE $T AND seq = ${seq}`)
        )[0]!.h,
      );
      expect(await scenario.runCheck('keys', 'workspace')).toEqual(
        broken(new RegExp(`^broken at seq ${seq}: event_hash is .* the event was altered`)),
      );
      await put(hashKeyEvent(event, digests).hash);
      await scenario.insider.deleteCheckpoints(scenario.tenantId);
      expect(await scenario.runCheck('keys', 'workspace')).toEqual(broken(/the stored tree of 4 rows: .*rewritten/));
      await scenario.insider.regrow(scenario.tenantId, 'keys');
      expect(await scenario.runCheck('keys', 'workspaceWithKeptCheckpoints')).toEqual(broken(/first-keys: .*rewritten/));
    },
  );

  test('the gap in seq reveals a deleted event; the head, the checkpoints and the seal reveal a deleted last event', async () => {
    await sql('DELETE FROM countersign.key_events WHERE $T AND seq = 2');
    expect(await scenario.runCheck('keys', 'workspace')).toEqual(
      broken(/^broken at seq 2: seq is 3, expected 2: an event is missing/),
    );
    await scenario.insider.undo();
    await sql('DELETE FROM countersign.key_events WHERE $T AND seq = 4');
    expect(await scenario.runCheck('keys', 'workspace')).toEqual(broken(/^broken at seq 4: the row is gone/));
    await scenario.insider.regrow(scenario.tenantId, 'keys');
    expect(await scenario.runCheck('keys', 'workspace')).toEqual(broken(/the stored checkpoint of size 4: .*tail was cut off/));
    await scenario.insider.deleteCheckpoints(scenario.tenantId);
    const { workspace, workspaceWithKeptCheckpoints } = await scenario.runChecks(
      'keys',
      'workspace',
      'workspaceWithKeptCheckpoints',
    );
    expect(workspace).toEqual(broken(/the stored head: its seal is not valid/));
    expect(workspaceWithKeptCheckpoints).toEqual(
      broken(/second-keys: it covers 4 rows, but the log ends after 3: its tail was cut off/),
    );
  });
});
