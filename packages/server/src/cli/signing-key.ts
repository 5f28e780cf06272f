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

/** `signing-key show | rotate | retire | reset`: the instance's Ed25519 key, of all workspaces. */
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
    .description('Print the public keys, ended ones too, as a JWKS: what readers keep to check checkpoints and attestations.')
    .option('--vkey', 'as verifier keys for signed notes, one a line, instead')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('signing-key show >jwks.json', 'signing-key show --vkey >instance.vkey'))
    .action(async ({ vkey = false }: { vkey?: boolean }) => {
      const keys = await session.withDatabase(published);
      const lines = keys.map(({ note_key }) => note_key);
      await session.answer(vkey ? lines : { keys }, vkey ? lines.join('\n') : JSON.stringify({ keys }, null, 2));
    });
}

function addRotate(group: Command, session: Session): void {
  group
    .command('rotate')
    .description(
      'Make a new signing key, which the present one signs for; both sign until the older one is retired. Embedded database only.',
    )
    .option(...JSON_OPTION)
    .addHelpText('after', examples('signing-key rotate') + ROTATE_NOTE)
    .action(async () => {
      const { databaseUrl, signingKey, dataDir } = session.config;
      if (databaseUrl !== undefined || signingKey !== undefined) throw new ExitError('refused', BY_ENVIRONMENT);
      // Opened before and after: the key to follow must be there and known, and its successor be listed at once.
      await session.withDatabase(async () => undefined);
      rotateSigningKeyFile(dataDir);
      const { kid, note_key } = await session.withDatabase(async (database) => {
        const keys = await published(database);
        return keys.find((key) => key.kid === database.signer.keys[0]!.keyid)!;
      });
      await session.answer({ kid, note_key }, kid);
      session.say(
        `${AT_NEXT_START}; start every server again, give readers the new public key, then \`signing-key retire\` the old one`,
      );
    });
}

function addRetire(group: Command, session: Session): void {
  group
    .command('retire')
    .description('End the older of two live signing keys. It stays listed with its end, so that what it signed can be checked.')
    .argument('<kid>', 'id of the key, as `signing-key show` has it')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('signing-key retire kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k'))
    .action(async (kid: string) => {
      const { databaseUrl, dataDir, previousSigningKey } = session.config;
      const isAtHand = await session.withDatabase((database) => retire(database, kid));
      if (isAtHand && databaseUrl === undefined) deletePreviousSigningKeyFile(dataDir);
      await session.answer({ kid, retired: true }, '');
      const unset = previousSigningKey === undefined ? '' : '; unset COUNTERSIGN_SIGNING_KEY_PREVIOUS';
      session.say(`signing key ${kid} is retired${unset}; start every server again: a running one goes on signing by it as well`);
    });
}

/**
 * Ends a key; returns whether its private half is at hand as the previous one.
 * Retiring again what was retired is no error then: the command may have been cut off before the file was forgotten.
 */
async function retire({ ledgerPool, signer, secrets }: OpenDatabase, kid: string): Promise<boolean> {
  if (signer.keys[0]!.keyid === kid)
    throw new RuleViolationError(`${kid} is the signing key in use; \`signing-key rotate\` makes the next one first`);
  const keys = await listSigningKeys(ledgerPool);
  const key = keys.find((each) => each.kid === kid);
  if (key === undefined)
    throw new RuleViolationError(
      `there is no signing key ${oneLine(JSON.stringify(kid))}; \`signing-key show\` has those there are`,
    );
  const isAtHand = secrets.previousSigningKey !== undefined && signingKeyId(secrets.previousSigningKey) === kid;
  if (key.retiredAt !== null && !isAtHand)
    throw new RuleViolationError(`signing key ${kid} was retired on ${key.retiredAt} already`);
  if (keys.find((each) => each.kid === signer.keys[0]!.keyid)?.signsSince == null)
    throw new RuleViolationError(
      `no server has been started with the key that follows ${kid}: start every server again, and retire it then; what they sign by it until then would be believed by nobody`,
    );
  await markSigningKeyRetired(ledgerPool, kid);
  return isAtHand;
}

const published = async ({ ledgerPool, signer }: OpenDatabase) =>
  (await listSigningKeys(ledgerPool)).map((key) => publishedKey(signer.instanceId, key));

const AT_NEXT_START = 'a running server takes the new key at its next start';

const BY_ENVIRONMENT =
  'the signing key comes from the environment: make a new one (`openssl genpkey -algorithm ed25519`), give the present one as ' +
  'COUNTERSIGN_SIGNING_KEY_PREVIOUS and the new one as COUNTERSIGN_SIGNING_KEY to every server, and start them again';

const ROTATE_NOTE = `
With DATABASE_URL or COUNTERSIGN_SIGNING_KEY the key comes from the environment: give the present one as COUNTERSIGN_SIGNING_KEY_PREVIOUS
and a new one as COUNTERSIGN_SIGNING_KEY (or their _FILE) to every server, start them again, and \`signing-key retire\` the old one.
A running server takes a new key at its next start; checkpoints and attestations bear both signatures while two keys are live.
`;
