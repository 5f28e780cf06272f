import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { ownAddress, publicAddress } from '../config/public-address.ts';
import { shellWord } from './shell-word.ts';

/** The text for people when the server is ready: its addresses, and what to do next. The shell replaces `$KEY`, not this template. */
export function welcome({
  port,
  where,
  config,
  setUp,
  workspace,
  command,
}: {
  port: number;
  where: string;
  config: Config;
  /** The text with the set-up link, or with the path of its file; undefined if there is none. */
  setUp: string | undefined;
  /** An existing workspace, as an argument of `--workspace`; undefined if there is none yet. */
  workspace: string | undefined;
  /** How to run `countersign-server` here (own-command.ts). */
  command: string;
}): string {
  const own = ownAddress(config, port);
  return `
  Countersign is ready.
    address   ${own}        API docs  ${own}/docs
    data      ${where}
  ${setUp ?? `The portal: ${publicAddress(config, port).origin}`}
  In another terminal, ${placeToRun(command, config)}:
${workspace === undefined ? `    ${command} workspace create --name acme\n` : ''}    KEY=$(${command} keys mint --workspace ${shellWord(workspace ?? 'acme')} --name ci --scopes telemetry,evaluations,audit,governance)
    curl -s ${own}/api/public/governance/promotion-check -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"agent_name":"support-bot"}'
  ${command.startsWith('bin/') ? '`npm run demo` shows the main features. ' : ''}Ctrl-C shuts down cleanly.
`;
}

/** Where to run the commands. They need the server's environment, and the server's folder unless the command is on the PATH. */
function placeToRun(command: string, config: Config): string {
  if (!command.includes('/') && !command.includes(' ')) {
    return 'with the same environment (in a container: after `docker exec CONTAINER`)';
  }
  const isDefault = config.databaseUrl === undefined && config.dataDir === resolve('data');
  return `in this folder${isDefault ? '' : ' (with the same environment)'}`;
}
