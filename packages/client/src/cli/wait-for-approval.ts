import { approvalAddress } from './approval-address.ts';
import type { Finding } from './gate-finding.ts';
import { shortLine } from './plain-text.ts';
import type { Session } from './session.ts';

const FIRST_PAUSE_MS = 2000;
const PAUSE_MS_MAX = 60_000;

/** How long to wait, and the portal for the approval. */
export interface WaitOptions {
  /** How long to wait for an approval, or until the service is available; 0 disables waiting. */
  waitMs: number;
  portalUrl: string;
}

/**
 * Repeats the request while only an approval is missing or the service is unavailable (`isTransient`). The last request starts after
 * `waitMs` at most. Any other finding ends the wait. Each blocked decision is an entry in the ledger, so the pauses grow to a minute. If a
 * decision is received a second time, the response was replayed, and the finding is undecided.
 */
export async function waitForApproval(
  session: Session,
  ask: () => Promise<Finding>,
  { waitMs, portalUrl }: WaitOptions,
): Promise<Finding> {
  const { elapsed, sleep } = session.terminal;
  const endsAt = elapsed() + waitMs;
  const receivedIds = new Set<string>();
  let reportedState: string | undefined;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(PAUSE_MS_MAX, pauseMs * 1.5)) {
    const finding = await ask();
    const id = finding.decision?.decision_id;
    if (id !== undefined && receivedIds.has(id))
      return {
        ...finding,
        ending: 'undecided',
        decision: undefined,
        text: undefined,
        attestation: undefined,
        verifiedBy: undefined,
        fault: `decision ${id} was received twice: the response was replayed`,
      };
    if (id !== undefined) receivedIds.add(id);
    const leftMs = endsAt - elapsed();
    if ((finding.ending !== 'pending' && !finding.isTransient) || leftMs <= 0) return finding;
    const line = waitingLine(finding, portalUrl, leftMs);
    // Only an approval of the latest evaluation counts, so the address of a newer evaluation is shown too.
    const state = `${finding.ending} ${finding.decision?.evaluation_id}`;
    if (state !== reportedState) session.say(line);
    reportedState = state;
    // An outage resets the pause, because the approval may have been given meanwhile.
    if (finding.isTransient) pauseMs = FIRST_PAUSE_MS;
    await sleep(Math.min(pauseMs, leftMs));
  }
}

function waitingLine(finding: Finding, portalUrl: string, leftMs: number): string {
  const minutes = leftMs >= 60_000 ? `${Math.round(leftMs / 60_000)} min` : `${Math.ceil(leftMs / 1000)} s`;
  if (finding.isTransient) return `waiting up to ${minutes} for the service: ${shortLine(finding.fault ?? '', 600)}`;
  const address = shortLine(approvalAddress(finding, portalUrl), 600);
  return `waiting up to ${minutes} for an approval of evaluation ${finding.decision?.evaluation_id}: ${address}`;
}
