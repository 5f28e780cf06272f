import type { Command } from 'commander';
import { replaceLostSigningKeyFile } from '../secrets/secret-files.ts';
import { JSON_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';

/** `signing-key reset`: replaces a lost key. */
export function addSigningKeyReset(group: Command, session: Session): void {
  group
    .command('reset')
    .description(
      'Replace a lost signing key with a new one. The lost key cannot sign the new one, so verifiers need the new public key. Changes nothing without --yes.',
    )
    .option('--yes', 'make the change; it cannot be undone')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('signing-key reset', 'signing-key reset --yes') + NOTE)
    .action(async ({ yes = false }: { yes?: boolean }) => {
      if (!yes) {
        await session.writeResult({ written: false }, '');
        session.say(
          'nothing was changed: if the signing key is lost and no backup has it, add --yes. Existing trust files will then be invalid',
        );
        return;
      }
      const { databaseUrl, signingKey, dataDir } = session.config;
      if (databaseUrl === undefined && signingKey === undefined) replaceLostSigningKeyFile(dataDir);
      const kid = await session.withDatabase(async ({ signer }) => signer.keys[0]!.keyid, 'reset-signing-key');
      await session.writeResult({ written: true, kid }, kid);
      session.say(
        'the lost key is retired. Start every server, and give every reader and gate the new public key and trust file',
      );
    });
}

const NOTE = `
Stop the servers first. Restore the lost key from a backup if you can: after a reset, every reader and gate needs the new public key. With
the embedded database, this command creates the new key if data/secrets/signing-key.pem is missing. With DATABASE_URL or
COUNTERSIGN_SIGNING_KEY, first set a new key as COUNTERSIGN_SIGNING_KEY. The JWKS shows the reset as \`reset_from\`, with the ID of the lost
key. See docs/operating.md, "When the signing key is lost".
`;
