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
      'After the signing key was lost: replace it by a new one, which the lost key has not signed. Changes nothing unless --yes is given.',
    )
    .option('--yes', 'make the change; it cannot be undone')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('signing-key reset', 'signing-key reset --yes') + NOTE)
    .action(async ({ yes = false }: { yes?: boolean }) => {
      if (!yes) {
        await session.writeResult({ written: false }, '');
        session.say(
          'nothing was changed: if the signing key is lost and in no backup, add --yes. Existing trust files become invalid',
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
Stop the servers first. Restore the lost key from a backup if you can: after a reset, every reader and gate needs the new public key. For
the embedded database the new key is created if data/secrets/signing-key.pem is missing; otherwise set a new one as
COUNTERSIGN_SIGNING_KEY. The JWKS shows the reset as \`reset_from\`, with the id of the lost key. See docs/operating.md, "When the signing
key is lost".
`;
