import type { KeyKind, Scope } from '@countersign/core/contract/scopes';
import type { Command } from 'commander';
import { type KeyListRow, type KeyPlace, listKeysPage } from '../storage/portal/keys.ts';
import { changeScopes, mintKey, type NewKey, revokeKey, rotateKey } from '../workspace/ingestion-keys.ts';
import { readAllPages } from './all-pages.ts';
import { JSON_OPTION, parseExpiry, parsePrefix, parseScopes, WORKSPACE_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';
import { formatTime } from './table.ts';

const shownOnceMessage = (noun: string): string => `the ${noun} is shown only once; store it in a secrets manager`;

/** The two kinds of keys. Each has its own group of commands. The commands that both groups have, except `mint`, share their code. */
const KINDS = {
  live: { group: 'keys', noun: 'key', prefix: 'aa_live_' },
  read: { group: 'tokens', noun: 'read token', prefix: 'aa_read_' },
} as const;

/** `keys mint | rotate | scopes | revoke | list`. */
export function addKeys(program: Command, session: Session): void {
  const group = program.command('keys').description('Mint, rotate, revoke and list ingestion keys, and set their scopes.');
  addMintKey(group, session);
  addScopes(group, session);
  addSharedCommands(group, session, 'live');
}

/** `tokens mint | rotate | revoke | list`. */
export function addTokens(program: Command, session: Session): void {
  const group = program
    .command('tokens')
    .description('Mint, rotate, revoke and list read tokens: they can read the ledger and its proofs, but not write.');
  addMintToken(group, session);
  addSharedCommands(group, session, 'read');
}

function addMintKey(group: Command, session: Session): void {
  group
    .command('mint')
    .description('Mint a key and print it. It is shown only once, because only a hash of its secret is stored.')
    .requiredOption(...WORKSPACE_OPTION)
    .requiredOption('--name <name>', 'what the key is for')
    .requiredOption('--scopes <scopes>', 'comma-separated: telemetry,evaluations,audit,governance', parseScopes)
    .option('--expires <date-time>', 'when the key expires, such as 2027-01-01T00:00:00Z (default: never)', parseExpiry)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('keys mint --workspace acme --name ci --scopes telemetry,evaluations,audit,governance'))
    .action((options: MintOptions & { scopes: Scope[] }) => mint(session, options, options.scopes, 'live'));
}

function addMintToken(group: Command, session: Session): void {
  group
    .command('mint')
    .description('Mint a read token for GET /api/ledger/... and print it. It is shown only once, because only a hash is stored.')
    .requiredOption(...WORKSPACE_OPTION)
    .requiredOption('--name <name>', 'what the token is for')
    .option('--expires <date-time>', 'when the token expires, such as 2027-01-01T00:00:00Z (default: never)', parseExpiry)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('tokens mint --workspace acme --name auditor --expires 2027-01-01T00:00:00Z'))
    .action((options: MintOptions) => mint(session, options, ['read'], 'read'));
}

interface MintOptions {
  workspace: string;
  name: string;
  expires?: string | null;
}

async function mint(
  session: Session,
  { workspace, name, expires = null }: MintOptions,
  scopes: NewKey['scopes'],
  kind: KeyKind,
): Promise<void> {
  const key = await session.withWorkspace(workspace, ({ pool }, tenant) =>
    mintKey(pool, tenant.id, { name, scopes, expiresAt: expires }, 'operator'),
  );
  await session.writeResult({ key, prefix: prefixOf(key), name, scopes, expires_at: expires }, key);
  session.say(shownOnceMessage(KINDS[kind].noun));
}

function addScopes(group: Command, session: Session): void {
  group
    .command('scopes')
    .description('Set the scopes of a key. They apply from the next request on.')
    .requiredOption(...WORKSPACE_OPTION)
    .argument('<prefix>', 'prefix of the key, with or without aa_live_', parsePrefix)
    .requiredOption('--scopes <scopes>', 'comma-separated: telemetry,evaluations,audit,governance', parseScopes)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('keys scopes --workspace acme aa_live_4f9a02c7d1e6 --scopes telemetry,audit'))
    .action(async (prefix: string, { workspace, scopes }: { workspace: string; scopes: Scope[] }) => {
      await session.withWorkspace(workspace, ({ pool }, tenant) => changeScopes(pool, tenant.id, { prefix, scopes }, 'operator'));
      await session.writeResult({ prefix, scopes }, '');
      session.say(`key aa_live_${prefix} has the scopes ${scopes.join(', ')} from now on`);
    });
}

/** Adds the commands whose code both groups share: rotate, revoke and list. */
function addSharedCommands(group: Command, session: Session, kind: KeyKind): void {
  addRotate(group, session, kind);
  addRevoke(group, session, kind);
  addList(group, session, kind);
}

function addRotate(group: Command, session: Session, kind: KeyKind): void {
  const { group: name, noun, prefix: start } = KINDS[kind];
  group
    .command('rotate')
    .description(`Give a ${noun} a new secret, and print the ${noun}. The old secret is rejected from the next request on.`)
    .requiredOption(...WORKSPACE_OPTION)
    .argument('<prefix>', `prefix of the ${noun}, with or without ${start}`, parsePrefix)
    .option(...JSON_OPTION)
    .addHelpText('after', examples(`${name} rotate --workspace acme ${start}4f9a02c7d1e6`))
    .action(async (prefix: string, { workspace }: { workspace: string }) => {
      const key = await session.withWorkspace(workspace, ({ pool }, tenant) =>
        rotateKey(pool, tenant.id, prefix, 'operator', kind),
      );
      await session.writeResult({ key, prefix }, key);
      session.say(shownOnceMessage(noun));
    });
}

function addRevoke(group: Command, session: Session, kind: KeyKind): void {
  const { group: name, noun, prefix: start } = KINDS[kind];
  group
    .command('revoke')
    .description(`Revoke a ${noun} permanently. It is rejected from the next request on.`)
    .requiredOption(...WORKSPACE_OPTION)
    .argument('<prefix>', `prefix of the ${noun}, with or without ${start}`, parsePrefix)
    .option(...JSON_OPTION)
    .addHelpText('after', examples(`${name} revoke --workspace acme 4f9a02c7d1e6`))
    .action(async (prefix: string, { workspace }: { workspace: string }) => {
      await session.withWorkspace(workspace, ({ pool }, tenant) => revokeKey(pool, tenant.id, prefix, 'operator', kind));
      await session.writeResult({ prefix, revoked: true }, '');
      session.say(`${noun} ${start}${prefix} is revoked`);
    });
}

function addList(group: Command, session: Session, kind: KeyKind): void {
  const { group: name, noun, prefix: start } = KINDS[kind];
  group
    .command('list')
    .description(`List the ${noun}s of a workspace, oldest first, including revoked ones, without their secrets.`)
    .requiredOption(...WORKSPACE_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', examples(`${name} list --workspace acme`))
    .action(async ({ workspace }: { workspace: string }) => {
      const keys = await session.withWorkspace(workspace, ({ pool }, tenant) =>
        readAllPages(
          pool,
          tenant.id,
          (tx, after: KeyPlace | null, limit) => listKeysPage(tx, kind, after, limit),
          ({ place_at: at, prefix }) => ({ at, prefix }),
        ),
      );
      await session.list(keys.reverse().map(toListRow), `no ${noun}s yet; \`${name} mint\` mints one`, [
        ['PREFIX', ({ prefix }) => start + prefix],
        ['NAME', ({ name }) => name],
        ['SCOPES', ({ scopes }) => scopes.join(',')],
        ['STATE', ({ state }) => state],
        ['CREATED', ({ created_at }) => formatTime(created_at)],
        ['ROTATED', ({ rotated_at }) => formatTime(rotated_at)],
        ['EXPIRES', ({ expires_at }) => formatTime(expires_at)],
        ['LAST USED', ({ last_used_at }) => formatTime(last_used_at)],
      ]);
    });
}

const toListRow = ({ id: _id, kind: _kind, place_at: _place, prefix, name, scopes, state, ...times }: KeyListRow) => ({
  ...{ prefix, name, scopes, state: state === 'active' ? 'live' : state },
  ...times,
});

const prefixOf = (key: string): string => key.slice(KINDS.live.prefix.length, key.indexOf('.'));
