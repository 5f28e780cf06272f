import { setTimeout as sleep } from 'node:timers/promises';
import { checkContract } from '../test/contract/contract-checks.ts';

/** The address of the server, from outside the container. */
export const SERVER_URL = 'http://127.0.0.1:7300';

const ALL_SCOPES = 'telemetry,evaluations,audit,governance';

type ResponseBody = Record<string, unknown>;

const GATE = 'governance/promotion-check';

/** Requests to the five endpoints, and a check of each response. The gate blocks before the evaluation and allows after it. */
const REQUESTS: [path: string, body: object, isGood: (responseBody: ResponseBody) => boolean][] = [
  [
    'traces',
    { trace_id: 'run-1', agent_name: 'bot', spans: [{ span_id: 's1', kind: 'llm', name: 'plan' }] },
    ({ id }) => typeof id === 'string',
  ],
  ['telemetry', { events: [{ trace_id: 'run-2', outcome: 'success', agent_name: 'bot' }] }, () => true],
  [GATE, { agent_name: 'bot', min_pass_rate: 90 }, ({ allowed }) => allowed === false],
  ['evaluations', { name: 'nightly', agent_name: 'bot', pass_rate: 92.5 }, ({ id }) => typeof id === 'string'],
  ['audit', { actor: 'ci', action: 'image.tried' }, ({ row_hash }) => typeof row_hash === 'string'],
  [GATE, { agent_name: 'bot', min_pass_rate: 90 }, ({ allowed }) => allowed === true],
];

/** Runs a command in the container and returns what it prints. */
export type RunInContainer = (...command: string[]) => string;

/** Prints the result of a check. A failed check sets the exit code to 1. */
export function check(what: string, isTrue: boolean): void {
  process.stdout.write(`${isTrue ? 'ok  ' : 'FAIL'} ${what}\n`);
  if (!isTrue) process.exitCode = 1;
}

async function post(key: string, path: string, body: object): Promise<{ status: number; responseBody: ResponseBody }> {
  const response = await fetch(`${SERVER_URL}/api/public/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, responseBody: (await response.json()) as ResponseBody };
}

const mint = (run: RunInContainer, scopes: string): string =>
  run('countersign-server', 'keys', 'mint', '--workspace', 'acme', '--name', scopes, '--scopes', scopes);

/** Creates a workspace and a key, sends the requests to the five endpoints, and returns the key. */
export async function checkEndpoints(run: RunInContainer): Promise<string> {
  run('countersign-server', 'workspace', 'create', '--name', 'acme');
  const key = mint(run, ALL_SCOPES);
  for (const [path, body, isGood] of REQUESTS) {
    const { status, responseBody } = await post(key, path, body);
    check(
      `POST ${path}: ${status}${'allowed' in responseBody ? `, allowed: ${responseBody.allowed}` : ''}`,
      status === 200 && isGood(responseBody),
    );
  }
  return key;
}

/**
 * Checks that the key and the evaluation of {@link checkEndpoints} still exist.
 * @param when the words at the end of the printed line, for example `after a restart`.
 */
export async function checkKeptData(key: string, when: string): Promise<void> {
  // Commands block the event loop. Without a pause, fetch would reuse a connection that the stopped server closed.
  await sleep(200);
  const { status, responseBody } = await post(key, GATE, { agent_name: 'bot', min_pass_rate: 90 });
  check(`the key and the evaluation exist ${when}`, status === 200 && responseBody.allowed === true);
}

/** Checks from outside that the server in the container fulfills the contract (test/contract). */
export async function checkFromOutside(run: RunInContainer): Promise<void> {
  const [key, audit, telemetry] = [mint(run, ALL_SCOPES), mint(run, 'audit'), mint(run, 'telemetry')];
  const keyWithout = (scope: string) => (scope === 'audit' ? telemetry : audit);
  const checks = await checkContract({ url: SERVER_URL, key, keyWithout });
  const failed = checks.filter(({ fault }) => fault !== undefined);
  for (const { name, fault } of failed) process.stderr.write(`${name}: ${fault}\n`);
  check(`the contract: ${checks.length - failed.length} of ${checks.length} checks passed`, failed.length === 0);
}

/** Checks that `ledger verify` finds no broken log in the workspace of {@link checkEndpoints}. */
export function checkLogs(run: RunInContainer): void {
  const verified = run('countersign-server', 'ledger', 'verify', '--workspace', 'acme', '--log', 'all');
  check('every log is valid', !verified.includes('broken'));
}
