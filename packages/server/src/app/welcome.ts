import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { ownAddress, publicAddress } from '../config/public-address.ts';
import { ownCommand } from './own-command.ts';
import { shellWord } from './shell-word.ts';

/** The text for people when the server is ready: its addresses, and what to do next. `$KEY` is typed literally. */
export function welcome({
  port,
  where,
  config,
  setUp,
  workspace,
}: {
  port: number;
  where: string;
  config: Config;
  /** A sentence with the place of the set-up link; undefined if there is none. */
  setUp: string | undefined;
  /** An existing workspace, as an argument of `--workspace`; undefined if there is none yet. */
  workspace: string | undefined;
}): string {
  const own = ownAddress(config, port);
  const elsewhere = config.databaseUrl === undefined && config.dataDir === resolve('data') ? '' : ' (with the same environment)';
  return `
  Countersign is ready.
    address   ${own}        contract  ${own}/docs
    data      ${where}
  ${setUp ?? `The portal: ${publicAddress(config, port).origin}`}
  In another terminal, in this folder${elsewhere}:
${workspace === undefined ? `    ${ownCommand} workspace create --name acme\n` : ''}    KEY=$(${ownCommand} keys mint --workspace ${shellWord(workspace ?? 'acme')} --name ci --scopes telemetry,evaluations,audit,governance)
    curl -s ${own}/api/public/governance/promotion-check -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"agent_name":"support-bot"}'
  \`npm run demo\` tours the whole of it. Ctrl-C shuts down cleanly.
`;
}
