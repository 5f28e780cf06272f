import type { Command } from 'commander';
import { type CorrectedClock, correctClock } from '../workspace/correct-clock.ts';
import { JSON_OPTION, WORKSPACE_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';

/** `ledger correct-clock`. */
export function addCorrectClock(group: Command, session: Session): void {
  group
    .command('correct-clock')
    .description(
      "After a clock was ahead: let the times of the workspace's logs continue from the current time. " +
        'Without --yes, only shows what it would write.',
    )
    .requiredOption(...WORKSPACE_OPTION)
    .option('--yes', 'write the changes; they cannot be undone')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('ledger correct-clock --workspace acme', 'ledger correct-clock --workspace acme --yes') + NOTE)
    .action(async ({ workspace, yes = false }: { workspace: string; yes?: boolean }) => {
      const correction = await session.withWorkspace(workspace, ({ pool }, tenant) =>
        correctClock(pool, tenant.id, { write: yes }),
      );
      const { now, logs, reopenedApprovals: reopened_approvals } = correction;
      await session.writeResult({ written: yes, now, logs, reopened_approvals }, linesOf(correction));
      session.say(yes ? NEXT_STEPS : `nothing was written: check that the time is ${correction.now}, then add --yes`);
    });
}

function linesOf({ logs, reopenedApprovals: count }: CorrectedClock): string {
  const steps = Object.entries(logs).map(
    ([log, { size, before, after }]) => `${log}: after row ${size}, from ${before} back to ${after}`,
  );
  const approvals = count === 0 ? [] : [`approvals with a time in the future, to be granted again: ${count}`];
  return [...steps, ...approvals].join('\n');
}

const NEXT_STEPS =
  'corrected. Promotion checks do not accept evaluations with a time in the future: record them again. Approvals with such a time are pending again';

const NOTE = `
First remove the cause of the wrong clock. The entry clock.corrected in the audit ledger names, for each log that was ahead, the row after
which its times may step back. "ledger verify" and the other verifiers allow the step only there. Evaluations and rows with wrong times do
not change. Evaluations whose approval has a time in the future return to the approvals queue.
See docs/operating.md, "After a clock was ahead".
`;
