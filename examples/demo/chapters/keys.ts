import { parseIngestionKey } from '@countersign/core/domain/ingestion-key';
import { Api, type KeyName } from '../api.ts';
import { CheckFailedError, type Narrator, TourImpossibleError } from '../narrator.ts';
import type { Operator } from '../operator.ts';
import { AGENT } from '../support-bot-runs.ts';

const SCOPES: Readonly<Record<KeyName, string>> = {
  'agent-runtime': 'telemetry',
  evaluator: 'evaluations',
  'deploy-gate': 'governance',
  ci: 'audit',
};

/** Creates the workspace and a key for each of its four systems, and shows that a key is limited to its scopes. */
export async function createWorkspaceAndKeys(narrator: Narrator, operator: Operator, url: URL, workspace: string): Promise<Api> {
  narrator.startChapter(
    'A workspace, and keys with one scope each',
    'A workspace is a tenant with its own agents, evidence and ledger. Each of its systems gets a key with the scope that it needs.',
  );
  await operator.run(['workspace', 'create', '--name', workspace]);
  const keys = {} as Record<KeyName, string>;
  for (const [name, scopes] of Object.entries(SCOPES) as [KeyName, string][]) {
    keys[name] = await operator.run(['keys', 'mint', '--workspace', workspace, '--name', name, '--scopes', scopes], {
      show: maskKey,
    });
  }
  const api = new Api(narrator, url, keys);
  const { status, body } = await api.post('agent-runtime', '/api/public/governance/promotion-check', { agent_name: AGENT });
  // The command wrote to the database of this environment. A server with another database does not know the key.
  if (body.error === 'unauthorized')
    throw new TourImpossibleError(
      `the server at ${url.origin} does not know the key that the command has just minted, ` +
        'because the server and the command use different databases. Run the tour in the folder of the server and with its environment ' +
        '(COUNTERSIGN_DATA_DIR, DATABASE_URL)',
    );
  narrator.check('a request with a key that lacks the scope is rejected', [401, 'insufficient_scope'], [status, body.error]);
  narrator.explainWhy(
    'a leaked key of the agent can only report runs. It cannot record evaluations, request promotion checks or read data.',
  );
  return api;
}

/** The key with a note in place of its secret, which the tour must not print. */
function maskKey(key: string): string {
  const parsed = parseIngestionKey(key);
  if (parsed === undefined) throw new CheckFailedError('keys mint: expected only a key on standard output');
  return `aa_live_${parsed.prefix}.(secret; the command prints it once, the tour hides it)`;
}
