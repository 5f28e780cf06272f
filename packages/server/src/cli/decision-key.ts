import type { Command } from 'commander';
import { deriveDecisionKey } from '../crypto/digests.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { findSigningKeyId, listDecisionKeys } from '../storage/decision-keys.ts';
import { retireDecisionKey, rotateDecisionKey } from '../workspace/decision-keys.ts';
import { RuleViolationError } from '../workspace/rule-violation.ts';
import { JSON_OPTION, WORKSPACE_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';
import { formatTime, oneLine } from './table.ts';

/** `decision-key show | list | rotate | retire`. */
export function addDecisionKey(program: Command, session: Session): void {
  const group = program
    .command('decision-key')
    .description('Show, rotate and retire the key that signs and verifies promotion decisions.');
  addShow(group, session);
  addList(group, session);
  addRotate(group, session);
  addRetire(group, session);
}

function addShow(group: Command, session: Session): void {
  group
    .command('show')
    .description("Print the workspace's decision key: 64 hex digits and nothing else. Its holder can verify and forge decisions.")
    .requiredOption(...WORKSPACE_OPTION)
    .option('--key-id <id>', 'ID of a waiting or retired key (default: the key that signs)')
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      examples('decision-key show --workspace acme', 'decision-key show --workspace acme --key-id dk_1f2e3d4c5b6a'),
    )
    .action(async ({ workspace, keyId: requestedId }: { workspace: string; keyId?: string }) => {
      const { key, keyId } = await session.withWorkspace(workspace, async ({ pool, secrets }, tenant) => {
        const [signingKeyId, keys] = await inTenantTransaction(pool, tenant.id, (tx) =>
          Promise.all([findSigningKeyId(tx), listDecisionKeys(tx)]),
        );
        const keyId = requestedId ?? signingKeyId;
        if (!keys.some((each) => each.keyId === keyId))
          throw new RuleViolationError(
            `this workspace has no decision key ${oneLine(JSON.stringify(keyId))}; \`decision-key list\` shows its keys`,
          );
        return { keyId, key: Buffer.from(deriveDecisionKey(secrets.masterSecret, tenant.id, keyId)).toString('hex') };
      });
      await session.writeResult({ key_id: keyId, decision_key: key }, key);
      session.say(`this key verifies decisions with key_id ${keyId}`);
    });
}

function addList(group: Command, session: Session): void {
  group
    .command('list')
    .description('List the IDs of the decision keys of a workspace, oldest first, including retired ones.')
    .requiredOption(...WORKSPACE_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('decision-key list --workspace acme'))
    .action(async ({ workspace }: { workspace: string }) => {
      const keys = await session.withWorkspace(workspace, ({ pool }, tenant) =>
        inTenantTransaction(pool, tenant.id, listDecisionKeys),
      );
      const signingKey = keys.find(({ retiredAt }) => retiredAt === null);
      const rows = keys.map((key) => ({
        key_id: key.keyId,
        state: key.retiredAt !== null ? 'retired' : key === signingKey ? 'signs' : 'waits',
        created_at: key.createdAt,
        retired_at: key.retiredAt,
      }));
      await session.list(rows, 'no decision keys', [
        ['KEY ID', ({ key_id }) => key_id],
        ['STATE', ({ state }) => state],
        ['CREATED', ({ created_at }) => formatTime(created_at)],
        ['RETIRED', ({ retired_at }) => formatTime(retired_at)],
      ]);
    });
}

function addRotate(group: Command, session: Session): void {
  group
    .command('rotate')
    .description('Add a second live decision key and print its ID. Then give the new key to all gates, and retire the older one.')
    .requiredOption(...WORKSPACE_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('decision-key rotate --workspace acme'))
    .action(async ({ workspace }: { workspace: string }) => {
      const keyId = await session.withWorkspace(workspace, ({ pool }, tenant) => rotateDecisionKey(pool, tenant.id, 'operator'));
      await session.writeResult({ key_id: keyId, state: 'waits' }, keyId);
      session.say(
        `next: print the new key with \`decision-key show --key-id ${keyId}\` and give it to every gate in addition to the old one; ` +
          'then retire the old one with `decision-key retire`',
      );
    });
}

function addRetire(group: Command, session: Session): void {
  group
    .command('retire')
    .description(
      'Retire one of two live decision keys. The signatures of the retired key stay valid. The other key signs from now on.',
    )
    .requiredOption(...WORKSPACE_OPTION)
    .argument('<key-id>', 'ID of the key, as `decision-key list` shows it')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('decision-key retire --workspace acme dk_1f2e3d4c5b6a'))
    .action(async (keyId: string, { workspace }: { workspace: string }) => {
      const signing = await session.withWorkspace(workspace, ({ pool }, tenant) =>
        retireDecisionKey(pool, tenant.id, keyId, 'operator'),
      );
      await session.writeResult({ key_id: keyId, state: 'retired', signing }, '');
      session.say(`decision key ${keyId} is retired; ${signing} signs from now on`);
    });
}
