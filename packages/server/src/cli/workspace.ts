import type { Command } from 'commander';
import { ownCommand } from '../app/own-command.ts';
import { shellWord } from '../app/shell-word.ts';
import { publicAddress } from '../config/public-address.ts';
import { createWorkspaceSetUpLink } from '../people/one-time-links.ts';
import { findTenantsByName, listTenants } from '../storage/tenants.ts';
import { createWorkspace } from '../workspace/create-workspace.ts';
import { workspaceArgument } from '../workspace/find-workspace.ts';
import { JSON_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';
import { formatTime } from './table.ts';

/** `workspace create | list`. */
export function addWorkspace(program: Command, session: Session): void {
  const group = program.command('workspace').description('Create and list workspaces (tenants).');

  group
    .command('create')
    .description(
      'Create a workspace with its ledger and its decision key. Prints its ID on stdout, and a link for its first admin on stderr.',
    )
    .requiredOption('--name <name>', 'name of the workspace; must not be in use')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('workspace create --name acme'))
    .action(async ({ name }: { name: string }) => {
      const { id, link, argument } = await session.withDatabase(async ({ pool }) => {
        const id = await createWorkspace(pool, name);
        const argument = workspaceArgument([{ id, name }, ...(await findTenantsByName(pool, name))]);
        return { id, link: await createWorkspaceSetUpLink(pool, id), argument };
      }, 'set-up');
      const { origin, caution } = publicAddress(session.config);
      const setUp = origin + link.path;
      await session.writeResult({ id, name, set_up_link: setUp }, id);
      session.say(`link for the first admin, which works once, for 72 hours: ${setUp}`);
      if (caution !== undefined) session.say(caution);
      session.say(
        `workspace ${JSON.stringify(name)} was created; next: ${ownCommand} keys mint --workspace ${shellWord(argument)} ...`,
      );
    });

  group
    .command('list')
    .description('List all workspaces, by name.')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('workspace list', 'workspace list --json'))
    .action(async () => {
      const tenants = await session.withDatabase(({ pool }) => listTenants(pool));
      const rows = tenants.map(({ id, name, createdAt }) => ({ id, name, created_at: createdAt }));
      await session.list(rows, 'no workspaces yet; `workspace create --name NAME` makes one', [
        ['NAME', ({ name }) => name],
        ['ID', ({ id }) => id],
        ['CREATED', ({ created_at }) => formatTime(created_at)],
      ]);
    });
}
