import type { Finding } from './gate-report.ts';
import { shortLine } from './plain-text.ts';
import type { Session } from './session.ts';

const FIRST_PAUSE_MS = 2000;
const PAUSE_MS_MAX = 60_000;

/** How long to wait, and where people approve. */
export interface Patience {
  /** 0 for not at all. */
  waitMs: number;
  portalUrl: string;
}

/**
 * Asks, and asks again with growing pauses for as long as an approval is all that is missing. Each question that is blocked stands in
 * the ledger, so that the pauses grow to a minute. Any other finding ends the waiting.
 */
export async function waitForApproval(
  session: Session,
  ask: () => Promise<Finding>,
  { waitMs, portalUrl }: Patience,
): Promise<Finding> {
  const { now, sleep } = session.terminal;
  const until = now() + waitMs;
  const seen = new Set<string>();
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(PAUSE_MS_MAX, pauseMs * 1.5)) {
    const finding = await ask();
    const id = finding.decision?.decision_id;
    if (id !== undefined && seen.has(id))
      return {
        ...finding,
        ending: 'undecided',
        decision: undefined,
        text: undefined,
        fault: `decision ${id} was answered twice: an answer is replayed`,
      };
    if (id !== undefined) seen.add(id);
    const left = until - now();
    if (finding.ending !== 'pending' || left <= 0) return finding;
    if (seen.size === 1) session.say(waitingLine(finding, portalUrl, left));
    await sleep(Math.min(pauseMs, left));
  }
}

function waitingLine({ decision }: Finding, portalUrl: string, leftMs: number): string {
  const minutes = leftMs >= 60_000 ? `${Math.round(leftMs / 60_000)} min` : `${Math.ceil(leftMs / 1000)} s`;
  return `waiting up to ${minutes} for an approval of evaluation ${decision?.evaluation_id}: ${shortLine(portalUrl)} (Approvals)`;
}
