import type { Command } from 'commander';
import { makeCheckpoint } from '../ledger/checkpoints.ts';
import { LOG_NAMES } from '../storage/log-heads.ts';
import { acceptRestore, type RestoredLogs } from '../workspace/accept-restore.ts';
import { JSON_OPTION, WORKSPACE_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';

/** `ledger accept-restore`. */
export function addAcceptRestore(group: Command, session: Session): void {
  group
    .command('accept-restore')
    .description(
      'After a backup was restored, or a replica took over: let the logs of the workspace continue from the older state. Without --yes, only shows what it would write.',
    )
    .requiredOption(...WORKSPACE_OPTION)
    .option('--yes', 'write the changes; they cannot be undone')
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      examples('ledger accept-restore --workspace acme', 'ledger accept-restore --workspace acme --yes') + NOTE,
    )
    .action(async ({ workspace, yes = false }: { workspace: string; yes?: boolean }) => {
      const logs = await session.withWorkspace(workspace, async ({ pool, signer }, tenant) => {
        const restoredLogs = await acceptRestore(pool, tenant.id, { write: yes });
        if (yes)
          for (const log of LOG_NAMES) await makeCheckpoint(pool, tenant.id, signer.keys, { log, isRestoreAccepted: true });
        return restoredLogs;
      });
      await session.writeResult({ written: yes, logs }, linesOf(logs));
      session.say(
        yes
          ? 'accepted. Start the servers again'
          : 'nothing was written: if you restored a backup, or a replica took over, add --yes',
      );
    });
}

const linesOf = (logs: RestoredLogs): string =>
  Object.entries(logs)
    .map(
      ([log, { abandoned, restored }]) =>
        `${log}: continues from ${restored.size} rows; the abandoned state had at least ${abandoned.size}`,
    )
    .join('\n');

const NOTE = `
Stop the servers first. The entry ledger.restore_accepted in the audit ledger names the abandoned head of each affected log, and the
head from which the log continues. Checkpoints of abandoned rows no longer match the log, so inform the people who keep them. See
docs/operating.md, "Continuing from an older state".
`;
