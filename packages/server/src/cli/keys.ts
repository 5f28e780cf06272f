import type { Scope } from '@countersign/core/contract/scopes';
import type { Command } from 'commander';
import { inTenantTransaction } from '../database/transaction.ts';
import { type ListedKey, listKeys } from '../storage/ingestion-keys.ts';
import { mintKey, revokeKey, rotateKey } from '../workspace/ingestion-keys.ts';
import { JSON_OPTION, parseExpiry, parsePrefix, parseScopes, WORKSPACE_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';
import { shownTime } from './table.ts';

const SHOWN_ONCE = 'this key is shown this once; keep it in a secrets manager';

/** `keys mint | rotate | revoke | list`. */
export function addKeys(program: Command, session: Session): void {
  const group = program.command('keys').description('Mint, rotate, revoke and list ingestion keys.');
  addMint(group, session);
  addRotate(group, session);
  addRevoke(group, session);
  addList(group, session);
}

function addMint(group: Command, session: Session): void {
  group
    .command('mint')
    .description('Make a key. Prints it, alone, this once: only a hash of its secret is stored.')
    .requiredOption(...WORKSPACE_OPTION)
    .requiredOption('--name <name>', 'what the key is for')
    .requiredOption('--scopes <scopes>', 'comma-separated: telemetry,evaluations,audit,governance', parseScopes)
    .option('--expires <date-time>', 'when it ends, as 2027-01-01T00:00:00Z (default: never)', parseExpiry)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('keys mint --workspace acme --name ci --scopes telemetry,evaluations,audit,governance'))
    .action(async (asked: { workspace: string; name: string; scopes: Scope[]; expires?: string }) => {
      const { workspace, name, scopes, expires = null } = asked;
      const key = await session.withWorkspace(workspace, ({ pool }, tenant) =>
        mintKey(pool, tenant.id, { name, scopes, expiresAt: expires }, 'operator'),
      );
      await session.answer({ key, prefix: prefixOf(key), name, scopes, expires_at: expires }, key);
      session.say(SHOWN_ONCE);
    });
}

function addRotate(group: Command, session: Session): void {
  group
    .command('rotate')
    .description('Give a key a new secret. Prints the new key, alone; the old one is dead with the next request.')
    .requiredOption(...WORKSPACE_OPTION)
    .argument('<prefix>', "the key's prefix, with or without aa_live_", parsePrefix)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('keys rotate --workspace acme aa_live_4f9a02c7d1e6'))
    .action(async (prefix: string, { workspace }: { workspace: string }) => {
      const key = await session.withWorkspace(workspace, ({ pool }, tenant) => rotateKey(pool, tenant.id, prefix, 'operator'));
      await session.answer({ key, prefix }, key);
      session.say(SHOWN_ONCE);
    });
}

function addRevoke(group: Command, session: Session): void {
  group
    .command('revoke')
    .description('End a key for good, with the next request.')
    .requiredOption(...WORKSPACE_OPTION)
    .argument('<prefix>', "the key's prefix, with or without aa_live_", parsePrefix)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('keys revoke --workspace acme 4f9a02c7d1e6'))
    .action(async (prefix: string, { workspace }: { workspace: string }) => {
      await session.withWorkspace(workspace, ({ pool }, tenant) => revokeKey(pool, tenant.id, prefix, 'operator'));
      await session.answer({ prefix, revoked: true }, '');
      session.say(`key aa_live_${prefix} is revoked`);
    });
}

function addList(group: Command, session: Session): void {
  group
    .command('list')
    .description('List the keys of a workspace, oldest first, revoked ones too. Never their secrets.')
    .requiredOption(...WORKSPACE_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('keys list --workspace acme'))
    .action(async ({ workspace }: { workspace: string }) => {
      const keys = await session.withWorkspace(workspace, ({ pool }, tenant) =>
        inTenantTransaction(pool, tenant.id, (tx) => listKeys(tx, 'live')),
      );
      await session.list(keys.map(listed), 'no keys yet; `keys mint` makes one', [
        ['PREFIX', ({ prefix }) => `aa_live_${prefix}`],
        ['NAME', ({ name }) => name],
        ['SCOPES', ({ scopes }) => scopes.join(',')],
        ['STATE', ({ state }) => state],
        ['CREATED', ({ created_at }) => shownTime(created_at)],
        ['ROTATED', ({ rotated_at }) => shownTime(rotated_at)],
        ['EXPIRES', ({ expires_at }) => shownTime(expires_at)],
        ['LAST USED', ({ last_used_at }) => shownTime(last_used_at)],
      ]);
    });
}

const listed = (key: ListedKey) => ({
  prefix: key.prefix,
  name: key.name,
  scopes: key.scopes,
  state: stateOf(key),
  created_at: key.createdAt,
  rotated_at: key.rotatedAt,
  expires_at: key.expiresAt,
  revoked_at: key.revokedAt,
  last_used_at: key.lastUsedAt,
});

function stateOf({ revokedAt, expiresAt }: ListedKey): 'live' | 'revoked' | 'expired' {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'live';
}

const prefixOf = (key: string): string => key.slice('aa_live_'.length, key.indexOf('.'));
