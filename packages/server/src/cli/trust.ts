import { trustFileText } from '@countersign/core/domain/trust-file';
import type { Command } from 'commander';
import { publicAddress } from '../config/public-address.ts';
import { publishedKey } from '../secrets/instance-signer.ts';
import { listSigningKeys } from '../storage/signing-keys.ts';
import { JSON_OPTION, WORKSPACE_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';

/** `trust show`: prints the keys that a gate needs to verify the decisions of one workspace. */
export function addTrust(program: Command, session: Session): void {
  const group = program.command('trust').description('Print the trust file of a workspace, for `countersign gate --trust`.');
  group
    .command('show')
    .description(
      "Print the trust file: the ID and name of the workspace, the URL of the server, and the instance's public keys. The file contains no secret; keep it in the repository of the gate.",
    )
    .requiredOption(...WORKSPACE_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('trust show --workspace acme >trust.json') + NOTE)
    .action(async ({ workspace }: { workspace: string }) => {
      const { origin, caution } = publicAddress(session.config);
      const text = await session.withWorkspace(workspace, async ({ ledgerPool, signer }, { id, name }) => {
        const keys = (await listSigningKeys(ledgerPool)).map((key) => publishedKey(signer.instanceId, key));
        return trustFileText({ workspace: { id, name }, url: origin, keys });
      });
      await session.writeResult(JSON.parse(text), text.trimEnd());
      if (caution !== undefined) session.say(`url: ${caution}`);
    });
}

const NOTE = `
Renew the file after a rotation of the signing key, before the older key is retired. Its \`url\` is only a hint and is not verified.
`;
