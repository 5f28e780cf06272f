import { randomBytes } from 'node:crypto';
import { appendOwnEntries } from './chapters/audit.ts';
import { reportRuns } from './chapters/evidence.ts';
import { requestFourDecisions } from './chapters/gate.ts';
import { createWorkspaceAndKeys } from './chapters/keys.ts';
import { verifyLedger } from './chapters/ledger.ts';
import { approveHighRiskAgent, recertifyAfterIncident } from './chapters/people.ts';
import { verifyDecision } from './chapters/signature.ts';
import { CheckFailedError, Narrator, TourImpossibleError } from './narrator.ts';
import { Operator } from './operator.ts';
import { addressOf, findOrStartServer, type Server } from './server.ts';
import { createVisitorLink } from './visitor.ts';

/**
 * Exit codes: 0 if every check passed, 1 if a check failed or an unexpected error occurred, 2 if the tour could not start or continue, or
 * if its output was closed. If SIGINT or SIGTERM interrupts the tour, the exit code is 130 or 143.
 */
const EXIT = { passed: 0, failed: 1, impossible: 2 } as const;

const usesColor = process.stdout.isTTY === true && !process.env.NO_COLOR;
const narrator = new Narrator((text) => process.stdout.write(text), usesColor);
let server: Server | undefined;
let isShuttingDown = false;
/** Whether all checks passed and the server keeps running only for the visitor. */
let isTourDone = false;

/** Runs the tour. Returns the link that signs the visitor in to the portal. */
async function runTour(url: URL): Promise<string> {
  const operator = new Operator(narrator);
  // A unique name, so the tour can be repeated.
  const workspace = `demo-${randomBytes(4).toString('hex')}`;
  const api = await createWorkspaceAndKeys(narrator, operator, url, workspace);
  await reportRuns(narrator, api);
  const decisionKey = await verifyDecision(narrator, operator, workspace, await requestFourDecisions(narrator, api));
  await approveHighRiskAgent(narrator, api, { operator, workspace });
  const decision = await recertifyAfterIncident(narrator, api, { operator, workspace });
  const ciRowHash = await appendOwnEntries(narrator, api, decision);
  await verifyLedger(narrator, api, operator, { workspace, decision, decisionKey, ciRowHash });
  return createVisitorLink(narrator, operator, url, workspace);
}

function printIntroduction(url: URL, isOwnServer: boolean): void {
  process.stdout.write(`\nCountersign, the governance ledger for AI agents: the tour\n\n`);
  narrator.say(
    'A team wants to deploy the next version of an agent that answers customers. Is it allowed to? What is the evidence, who ' +
      'approved it, and who can verify that a year from now? The tour shows each request and the response of the server.',
  );
  narrator.say(
    isOwnServer ? `(no server responded at ${url.origin}, so the tour started one there)` : `(the server at ${url.origin})`,
  );
}

/** Whether a server that the tour started keeps running: on a terminal, where the user can stop it, or with `--keep`. */
function keepsServer(args: readonly string[]): boolean {
  const unknown = args.find((arg) => arg !== '--keep');
  if (unknown !== undefined) throw new TourImpossibleError(`unknown option ${unknown}: the tour has only --keep and --help`);
  return args.length > 0 || (process.stdin.isTTY === true && process.stdout.isTTY === true);
}

const USAGE = `Usage: npm run demo [-- --keep]

Shows the main features on the server at COUNTERSIGN_URL, by default http://127.0.0.1:COUNTERSIGN_PORT (7300).
If no server responds there, and the host is 127.0.0.1 or localhost, the tour starts one.
  --keep   if the tour starts a server, leave it running until Ctrl-C (the default on a terminal)
`;

async function run(): Promise<void> {
  if (process.argv.includes('--help') || process.argv.includes('-h')) return void process.stdout.write(USAGE);
  const keepsRunning = keepsServer(process.argv.slice(2));
  const url = addressOf(process.env);
  // Assigned before the server is ready, so that the server is stopped even if the tour ends while it starts.
  server = await findOrStartServer(url, (started) => {
    server = started;
    process.stderr.write(`starting a server at ${url.origin} ...\n`);
  });
  printIntroduction(url, server.isOwn);
  const link = await runTour(url);
  process.stdout.write('\n');
  if (server.isOwn && !keepsRunning) narrator.check('the server shuts down cleanly', 0, await server.stop());
  narrator.say(
    'All checks passed. Next: recorded runs of a real agent (examples/tau-bench/README.md), the formats (docs/formats.md), ' +
      'or `npm start` and your own workspace.',
  );
  await showPortalLink(server, keepsRunning, link);
}

/** Prints the link to the portal. If the tour keeps its own server running, waits until that server ends. */
async function showPortalLink({ isOwn, ended }: Server, keepsRunning: boolean, link: string): Promise<void> {
  const when = isOwn && !keepsRunning ? 'Start the server with `npm start`, then open' : 'Open';
  narrator.introduce(`${when} the workspace of this tour in a browser with this link. It works once, within one hour:`);
  process.stdout.write(`\n   ${link}\n\n`);
  if (!isOwn || !keepsRunning) return;
  narrator.say('The server keeps running until you press Ctrl-C.');
  isTourDone = true;
  await ended;
}

/** Prints why the tour ended, and returns its exit code. */
function reportError(error: unknown): number {
  const { message, cause } = error as Error & { cause?: Error };
  if (error instanceof TourImpossibleError) process.stderr.write(`\nthe tour cannot run: ${message}\n`);
  else if (error instanceof CheckFailedError) process.stderr.write(`\na check failed: ${message}\n`);
  else process.stderr.write(`\nthe tour failed: ${message}${cause === undefined ? '' : ` (${cause.message})`}\n`);
  return error instanceof TourImpossibleError ? EXIT.impossible : EXIT.failed;
}

/** Stops the server that the tour started, if any, and then exits. Called on a signal, or when the output was closed by its reader. */
function shutDown(status: number): void {
  isShuttingDown = true;
  void (server?.stop() ?? Promise.resolve()).finally(() => process.exit(status));
}
process.once('SIGINT', () => shutDown(isTourDone ? EXIT.passed : 130));
process.once('SIGTERM', () => shutDown(isTourDone ? EXIT.passed : 143));
process.stdout.once('error', () => shutDown(EXIT.impossible));

try {
  await run();
  process.exitCode = EXIT.passed;
} catch (error) {
  if (!isShuttingDown) process.exitCode = reportError(error);
  await server?.stop();
}
