import { resolve } from 'node:path';
import type { Config } from './config.ts';
import { ownCommand } from './own-command.ts';
import { publicAddress } from './public-address.ts';
import { shellWord } from './shell-word.ts';

/** What a person reads when the server is ready: where it is, and what to do next. `$KEY` stands in the line as it is to be typed. */
export function welcome({
  port,
  where,
  config,
  setUpPath,
  workspace,
}: {
  port: number;
  where: string;
  config: Config;
  /** Path of the link for the set-up, while nobody is set up. */
  setUpPath: string | undefined;
  /** A workspace that there is, as `--workspace` takes it; undefined before the first. */
  workspace: string | undefined;
}): string {
  const own = publicAddress({ ...config, publicUrl: undefined }, port);
  const people = publicAddress(config, port);
  const elsewhere = config.databaseUrl === undefined && config.dataDir === resolve('data') ? '' : ' (with the same environment)';
  return `
  Countersign is ready.
    address   ${own}        contract  ${own}/docs
    data      ${where}
  ${setUpPath === undefined ? `The portal: ${people}` : `Set up the portal, by this link that works once, for 72 hours:\n    ${people}${setUpPath}`}
  In another terminal, in this folder${elsewhere}:
${workspace === undefined ? `    ${ownCommand} workspace create --name acme\n` : ''}    KEY=$(${ownCommand} keys mint --workspace ${shellWord(workspace ?? 'acme')} --name ci --scopes telemetry,evaluations,audit,governance)
    curl -s ${own}/api/public/governance/promotion-check -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"agent_name":"support-bot"}'
  \`npm run demo\` tours the whole of it. Ctrl-C stops in order.
`;
}
