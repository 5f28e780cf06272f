import { randomBytes } from 'node:crypto';
import { whoDidWhat } from './chapters/audit.ts';
import { whatTheAgentDoes } from './chapters/evidence.ts';
import { fourAnswers } from './chapters/gate.ts';
import { workspaceAndKeys } from './chapters/keys.ts';
import { theWholeStory } from './chapters/ledger.ts';
import { aPersonSaysYes, whenSomethingGoesWrong } from './chapters/people.ts';
import { believeTheAnswer } from './chapters/signature.ts';
import { CannotTour, Narrator, Unexpected } from './narrator.ts';
import { Operator } from './operator.ts';
import { addressOf, findOrStartServer, type Server } from './server.ts';
import { visitorLink } from './visitor.ts';

/** Exit codes: 0 if every check of the tour passed, 1 if one failed, 2 if the tour could not run. */
const EXIT = { held: 0, broken: 1, impossible: 2 } as const;

const colour = process.stdout.isTTY === true && !process.env.NO_COLOR;
const narrator = new Narrator((text) => process.stdout.write(text), colour);
let server: Server | undefined;
let leaving = false;
/** Whether everything held, and the server runs on for the visitor to look around. */
let lookingAround = false;

/** Runs the tour. Returns the link that signs its visitor in to the portal. */
async function tour(url: URL): Promise<string> {
  const operator = new Operator(narrator);
  // A unique name, so the tour can be repeated.
  const workspace = `demo-${randomBytes(4).toString('hex')}`;
  const api = await workspaceAndKeys(narrator, operator, url, workspace);
  await whatTheAgentDoes(narrator, api);
  const decisionKey = await believeTheAnswer(narrator, operator, workspace, await fourAnswers(narrator, api));
  await aPersonSaysYes(narrator, api, { operator, workspace });
  const decision = await whenSomethingGoesWrong(narrator, api, { operator, workspace });
  const keptHash = await whoDidWhat(narrator, api, decision);
  await theWholeStory(narrator, api, operator, { workspace, decision, decisionKey, keptHash });
  return visitorLink(narrator, operator, url, workspace);
}

function opening(url: URL, own: boolean): void {
  process.stdout.write(`\nCountersign, the governance ledger for AI agents: the tour\n\n`);
  narrator.say(
    'A team runs an agent that answers customers, and wants to put its next version into production. May it? On what evidence, ' +
      'by whose word, and how will anybody know a year from now? You see each request and what the server answered.',
  );
  narrator.say(own ? `(nothing answered at ${url.origin}, so the tour started a server there)` : `(the server at ${url.origin})`);
}

/** Whether a server that the tour started keeps running: on a terminal, where the user can stop it, or with `--keep`. */
function keepsServer(args: readonly string[]): boolean {
  const unknown = args.find((arg) => arg !== '--keep');
  if (unknown !== undefined) throw new CannotTour(`the tour takes --keep alone, got ${unknown}`);
  return args.length > 0 || (process.stdin.isTTY === true && process.stdout.isTTY === true);
}

const USAGE = `Usage: npm run demo [-- --keep]

Tours the main job, against the server at COUNTERSIGN_URL, or of this environment, or one that it starts and stops.
  --keep   lets a server that it started run on until Ctrl-C, which it does anyway at a terminal
`;

async function run(): Promise<void> {
  if (process.argv.includes('--help') || process.argv.includes('-h')) return void process.stdout.write(USAGE);
  const keep = keepsServer(process.argv.slice(2));
  const url = addressOf(process.env);
  // Known from its first moment, so that it is stopped whenever the tour ends.
  server = await findOrStartServer(url, (started) => {
    server = started;
    process.stderr.write(`starting a server at ${url.origin} ...\n`);
  });
  opening(url, server.own);
  const link = await tour(url);
  process.stdout.write('\n');
  if (server.own && !keep) narrator.holds('the server stops in order', 0, await server.stop());
  narrator.say(
    'Every promise held. Next: real runs of a real agent (examples/tau-bench/README.md), the formats (docs/formats.md), ' +
      'or `npm start` and a workspace of your own.',
  );
  await lookAround(server, keep, link);
}

/** Shows the way into the portal, and waits while the visitor is there, when the server is the tour's own. */
async function lookAround({ own, ended }: Server, keep: boolean, link: string): Promise<void> {
  const when = own && !keep ? 'Start the server with `npm start`, then open' : 'Open';
  narrator.next(`${when} the workspace of this tour in a browser, by this link that works once, within the hour:`);
  process.stdout.write(`\n   ${link}\n\n`);
  if (!own || !keep) return;
  narrator.say('The server runs on until you press Ctrl-C.');
  lookingAround = true;
  await ended;
}

/** Tells what ended the tour, and with which exit code. */
function ending(error: unknown): number {
  const { message, cause } = error as Error & { cause?: Error };
  if (error instanceof CannotTour) process.stderr.write(`\nthe tour cannot be held: ${message}\n`);
  else if (error instanceof Unexpected) process.stderr.write(`\na promise did not hold: ${message}\n`);
  else process.stderr.write(`\nthe tour broke off: ${message}${cause === undefined ? '' : ` (${cause.message})`}\n`);
  return error instanceof CannotTour ? EXIT.impossible : EXIT.broken;
}

/** Leaves at once when told to, or when nobody reads any more, but not without the server that the tour started. */
function leaveInOrder(status: number): void {
  leaving = true;
  void (server?.stop() ?? Promise.resolve()).finally(() => process.exit(status));
}
process.once('SIGINT', () => leaveInOrder(lookingAround ? EXIT.held : 130));
process.once('SIGTERM', () => leaveInOrder(lookingAround ? EXIT.held : 143));
process.stdout.once('error', () => leaveInOrder(EXIT.impossible));

try {
  await run();
  process.exitCode = EXIT.held;
} catch (error) {
  if (!leaving) process.exitCode = ending(error);
  await server?.stop();
}
