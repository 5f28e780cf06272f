import type { Command } from 'commander';
import type { OpenDatabase } from '../app/open-database.ts';
import { ExitError } from '../errors/exit-codes.ts';
import { publishedKey, signingKeyId } from '../secrets/instance-signer.ts';
import { deletePreviousSigningKeyFile, rotateSigningKeyFile } from '../secrets/secret-files.ts';
import { listSigningKeys, markSigningKeyRetired } from '../storage/signing-keys.ts';
import { RuleViolationError } from '../workspace/rule-violation.ts';
import { JSON_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';
import { addSigningKeyReset } from './signing-key-reset.ts';
import { oneLine } from './table.ts';

/** `signing-key show | rotate | retire | reset`: the instance's Ed25519 key, which signs for all workspaces. */
export function addSigningKey(program: Command, session: Session): void {
  const group = program
    .command('signing-key')
    .description("Show, rotate, retire and reset the instance's Ed25519 key, which signs checkpoints and attestations.");
  addShow(group, session);
  addRotate(group, session);
  addRetire(group, session);
  addSigningKeyReset(group, session);
}

function addShow(group: Command, session: Session): void {
  group
    .command('show')
    .description('Print the public keys, including retired ones, as a JWKS for verifying checkpoints and attestations.')
    .option('--vkey', 'print verifier keys for signed notes instead, one per line')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('signing-key show >jwks.json', 'signing-key show --vkey >instance.vkey'))
    .action(async ({ vkey = false }: { vkey?: boolean }) => {
      const keys = await session.withDatabase(listPublishedKeys);
      const lines = keys.map(({ note_key }) => note_key);
      await session.writeResult(vkey ? lines : { keys }, vkey ? lines.join('\n') : JSON.stringify({ keys }, null, 2));
    });
}

function addRotate(group: Command, session: Session): void {
  group
    .command('rotate')
    .description(
      'Create a new signing key, signed by the current one. Both sign until the older one is retired. Only for a key in the data folder.',
    )
    .option(...JSON_OPTION)
    .addHelpText('after', examples('signing-key rotate') + ROTATE_NOTE)
    .action(async () => {
      const { databaseUrl, signingKey, dataDir } = session.config;
      if (databaseUrl !== undefined || signingKey !== undefined) throw new ExitError('refused', BY_ENVIRONMENT);
      // Opening the database adds the configured key to the list: the old key here, and the new key after the rotation.
      await session.withDatabase(async () => undefined);
      rotateSigningKeyFile(dataDir);
      const { kid, note_key } = await session.withDatabase(async (database) => {
        const keys = await listPublishedKeys(database);
        return keys.find((key) => key.kid === database.signer.keys[0]!.keyid)!;
      });
      await session.writeResult({ kid, note_key }, kid);
      session.say(
        `${AT_NEXT_START}; start every server again, give readers the new public key, then retire the old key with \`signing-key retire\``,
      );
    });
}

function addRetire(group: Command, session: Session): void {
  group
    .command('retire')
    .description('Retire the older of two live signing keys. It stays listed, so that its signatures can be verified.')
    .argument('<kid>', 'ID of the key, from `signing-key show`')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('signing-key retire kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k'))
    .action(async (kid: string) => {
      const { databaseUrl, dataDir, previousSigningKey } = session.config;
      const isPreviousKey = await session.withDatabase((database) => retire(database, kid));
      if (isPreviousKey && databaseUrl === undefined) deletePreviousSigningKeyFile(dataDir);
      await session.writeResult({ kid, retired: true }, '');
      const unset = previousSigningKey === undefined ? '' : '; unset COUNTERSIGN_SIGNING_KEY_PREVIOUS';
      session.say(
        `signing key ${kid} is retired${unset}; restart every server, because a running one still signs with the retired key`,
      );
    });
}

/**
 * Retires a key. Returns whether it is the previous signing key in the secrets. That key can be retired again, because an earlier command
 * may have been interrupted before it deleted the file of that key.
 * @throws RuleViolationError if the key is unknown, in use or retired already, or if no server has started with its successor.
 */
async function retire({ ledgerPool, signer, secrets }: OpenDatabase, kid: string): Promise<boolean> {
  if (signer.keys[0]!.keyid === kid)
    throw new RuleViolationError(`${kid} is the signing key in use; run \`signing-key rotate\` first`);
  const keys = await listSigningKeys(ledgerPool);
  const key = keys.find((each) => each.kid === kid);
  if (key === undefined)
    throw new RuleViolationError(`there is no signing key ${oneLine(JSON.stringify(kid))}; \`signing-key show\` lists the keys`);
  const isPreviousKey = secrets.previousSigningKey !== undefined && signingKeyId(secrets.previousSigningKey) === kid;
  if (key.retiredAt !== null && !isPreviousKey)
    throw new RuleViolationError(`signing key ${kid} was retired on ${key.retiredAt} already`);
  if (keys.find((each) => each.kid === signer.keys[0]!.keyid)?.signsSince == null)
    throw new RuleViolationError(
      `no server has been started with the key that follows ${kid}: restart every server first. Otherwise the servers continue to sign with the retired key, and verifiers reject these signatures.`,
    );
  await markSigningKeyRetired(ledgerPool, kid);
  return isPreviousKey;
}

const listPublishedKeys = async ({ ledgerPool, signer }: OpenDatabase) =>
  (await listSigningKeys(ledgerPool)).map((key) => publishedKey(signer.instanceId, key));

const AT_NEXT_START = 'a running server uses the new key after its next start';

const BY_ENVIRONMENT =
  'the signing key comes from the environment: create a new one (`openssl genpkey -algorithm ed25519`), set the current one as ' +
  'COUNTERSIGN_SIGNING_KEY_PREVIOUS and the new one as COUNTERSIGN_SIGNING_KEY on every server, and restart them';

const ROTATE_NOTE = `
With DATABASE_URL or COUNTERSIGN_SIGNING_KEY, the key comes from the environment. On every server, set the current key as
COUNTERSIGN_SIGNING_KEY_PREVIOUS and a new key as COUNTERSIGN_SIGNING_KEY (or the variables with _FILE). Restart the servers, and then
retire the old key with \`signing-key retire\`. A running server uses a new key after its next start. While two keys are live, checkpoints
and attestations have both signatures.
`;
