import { setTimeout as sleep } from 'node:timers/promises';
import { type Attack, percentile } from './attack.ts';
import { Caller, httpText, postRequest, runConcurrently } from './requests.ts';
import type { Target } from './target.ts';
import type { Workspace } from './workspaces.ts';

const VIEWERS = 64;
const ENTRIES = 60;
/** The last page is an export, which the victim does not request. */
const PAGES = ['ledger/entries', 'runs', 'overview', 'agents', 'ledger/export?log=audit'];

const pageRequest = ({ tenantId, cookie }: Workspace, page: string): string =>
  httpText('GET', `/api/portal/workspaces/${tenantId}/${page}`, { Cookie: cookie });

/** Stores entries of almost one megabyte. A page of the list ends after about 2 MiB of documents, so it has only a few entries. */
async function storeLargeEntries(target: Target): Promise<void> {
  const caller = new Caller(target);
  for (let index = 0; index < ENTRIES; index += 1) {
    const body = { actor: 'attacker', action: 'large.entry', metadata: { text: 'x'.repeat(900_000) } };
    const { status } = await caller.send(postRequest('/api/public/audit', target.attacker.key, JSON.stringify(body)));
    if (status !== 200) throw new Error(`a large entry got status ${status}`);
  }
  caller.close();
}

/** Viewers of one workspace must not cause 503 responses in the portal of another workspace. */
export const loopingViewers: Attack = {
  description: `${VIEWERS} connections of one portal session that load lists and exports without pause`,
  bounds: { memoryMiB: 1024 },
  promise: "each page of another workspace's portal returns 200",
  prepare: storeLargeEntries,
  run: async (target, { seconds }) => {
    const latencies: number[] = [];
    const victimErrors = new Map<number, number>();
    let [rejected, turn] = [0, 0];
    const callers = Array.from({ length: VIEWERS + 1 }, () => new Caller(target));
    await runConcurrently(callers.length, seconds, async (index) => {
      turn += 1;
      const isVictim = index === VIEWERS;
      const page = PAGES[turn % (isVictim ? PAGES.length - 1 : PAGES.length)]!;
      const { status, ms } = await callers[index]!.send(pageRequest(isVictim ? target.victim : target.attacker, page));
      if (!isVictim) {
        if (status !== 200) rejected += 1;
        return;
      }
      latencies.push(ms);
      if (status !== 200) victimErrors.set(status, (victimErrors.get(status) ?? 0) + 1);
      await sleep(20);
    });
    for (const caller of callers) caller.close();
    const p99 = percentile(latencies, 0.99);
    const note = `${latencies.length} pages of another workspace, p99 ${p99.toFixed(0)} ms`;
    return {
      rejected,
      note,
      violations: [...victimErrors].map(([status, count]) => `${count} pages of the other workspace got status ${status}`),
    };
  },
};
