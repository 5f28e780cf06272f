import type { Command } from 'commander';
import { inTenantTransaction } from '../database/transaction.ts';
import { deriveDecisionKey } from '../digests.ts';
import { findSigningKeyId } from '../storage/decisions.ts';
import { JSON_OPTION, WORKSPACE_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';

/** `decision-key show`. */
export function addDecisionKey(program: Command, session: Session): void {
  program
    .command('decision-key')
    .description('Show the key that checks the signature of promotion decisions.')
    .command('show')
    .description("Print the workspace's decision key: 64 hex digits, alone. Whoever has it can check decisions, and forge them.")
    .requiredOption(...WORKSPACE_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('decision-key show --workspace acme'))
    .action(async ({ workspace }: { workspace: string }) => {
      const { key, keyId } = await session.withWorkspace(workspace, async ({ pool, secrets }, tenant) => {
        const keyId = await inTenantTransaction(pool, tenant.id, findSigningKeyId);
        return { keyId, key: Buffer.from(deriveDecisionKey(secrets.masterSecret, tenant.id, keyId)).toString('hex') };
      });
      await session.answer({ key_id: keyId, decision_key: key }, key);
      session.say(`the key of decisions with key_id ${keyId}`);
    });
}
