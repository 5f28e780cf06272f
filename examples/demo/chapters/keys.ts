import { parseIngestionKey } from '@countersign/core/domain/ingestion-key';
import { Api, type KeyName } from '../api.ts';
import { CannotTour, type Narrator, Unexpected } from '../narrator.ts';
import type { Operator } from '../operator.ts';
import { AGENT } from '../support-bot-runs.ts';

const SCOPES: Readonly<Record<KeyName, string>> = {
  'agent-runtime': 'telemetry',
  evaluator: 'evaluations',
  'deploy-gate': 'governance',
  ci: 'audit',
};

/** Makes the workspace and a key for each of its four systems, and shows that a key does what its scopes say and no more. */
export async function workspaceAndKeys(narrator: Narrator, operator: Operator, url: URL, workspace: string): Promise<Api> {
  narrator.chapter(
    'A workspace, and keys that can do one thing each',
    'A workspace is a tenant with its own agents, evidence and ledger. Its systems get a key each, for what they do.',
  );
  await operator.run(['workspace', 'create', '--name', workspace]);
  const keys = {} as Record<KeyName, string>;
  for (const [name, scopes] of Object.entries(SCOPES) as [KeyName, string][]) {
    keys[name] = await operator.run(['keys', 'mint', '--workspace', workspace, '--name', name, '--scopes', scopes], {
      show: masked,
    });
  }
  const api = new Api(narrator, url, keys);
  const { status, body } = await api.post('agent-runtime', '/api/public/governance/promotion-check', { agent_name: AGENT });
  // The command wrote to the database of this environment; a server elsewhere knows nothing of it.
  if (body.error === 'unauthorized')
    throw new CannotTour(
      `the server at ${url.origin} does not know the key that the command has just minted: they have different databases. ` +
        'Run the tour in the folder and with the environment of the server (COUNTERSIGN_DATA_DIR, DATABASE_URL)',
    );
  narrator.holds('a key without the scope is refused', [401, 'insufficient_scope'], [status, body.error]);
  narrator.why('a key that leaks from the agent can report runs. It cannot pass an evaluation, ask the gate, or read anything.');
  return api;
}

/** The key is a secret: the tour shows which one it is, and keeps the rest. */
function masked(key: string): string {
  const parsed = parseIngestionKey(key);
  if (parsed === undefined) throw new Unexpected('keys mint: expected a key alone on standard output');
  return `aa_live_${parsed.prefix}.(secret, shown this once; the tour keeps it to itself)`;
}
