import type { Role } from '@countersign/core/portal/route';
import { ROLES } from '@countersign/core/portal/route';
import { type Command, Option } from 'commander';
import { publicAddress } from '../config/public-address.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { addMember } from '../people/add-member.ts';
import { inviteMember } from '../people/members.ts';
import type { IssuedLink } from '../people/one-time-links.ts';
import { createResetLinkByOperator } from '../people/reset-links.ts';
import { listMembers } from '../storage/memberships.ts';
import { JSON_OPTION, parseEmail, WORKSPACE_OPTION } from './arguments.ts';
import { examples } from './help.ts';
import type { Session } from './session.ts';
import { formatTime } from './table.ts';

const ROLE_OPTION = (): Option => new Option('--role <role>', 'the role in the workspace').choices(ROLES).makeOptionMandatory();
const EMAIL_OPTION = ['--email <address>', 'email address of the person', parseEmail] as const;

/** `members invite | add | list | reset-password`. */
export function addMembers(program: Command, session: Session): void {
  const group = program.command('members').description('Manage the members of a workspace.');
  addInvite(group, session);
  addAdd(group, session);
  addList(group, session);
  addResetPassword(group, session);
}

/** Writes only the link to stdout, and the instructions to stderr. With --json, writes only an object to stdout. */
async function writeLink(session: Session, { path, expiresAt }: IssuedLink): Promise<void> {
  const { origin, caution } = publicAddress(session.config);
  const link = origin + path;
  await session.writeResult({ link, expires_at: expiresAt }, link);
  session.say(`this link works once, until ${formatTime(expiresAt)}; give it only to this person`);
  if (caution !== undefined) session.say(caution);
}

function addInvite(group: Command, session: Session): void {
  group
    .command('invite')
    .description('Invite a person to a workspace. Prints a link that works once, for 72 hours.')
    .requiredOption(...WORKSPACE_OPTION)
    .requiredOption(...EMAIL_OPTION)
    .addOption(ROLE_OPTION())
    .option(...JSON_OPTION)
    .addHelpText('after', examples('members invite --workspace acme --email ada@example.com --role approver'))
    .action(async ({ workspace, email, role }: { workspace: string; email: string; role: Role }) => {
      const link = await session.withWorkspace(workspace, ({ pool }, tenant) =>
        inviteMember(pool, tenant.id, { email, role }, 'operator'),
      );
      await writeLink(session, link);
    });
}

function addAdd(group: Command, session: Session): void {
  group
    .command('add')
    .description('Make a person a member without an invitation. Prints a link that signs them in once, within an hour.')
    .requiredOption(...WORKSPACE_OPTION)
    .requiredOption(...EMAIL_OPTION)
    .option('--name <name>', 'the name for a new account (default: the address)')
    .addOption(ROLE_OPTION())
    .option(...JSON_OPTION)
    .addHelpText('after', examples('members add --workspace acme --email ada@example.com --name Ada --role viewer'))
    .action(
      async ({
        workspace,
        email,
        name = email.trim(),
        role,
      }: {
        workspace: string;
        email: string;
        name?: string;
        role: Role;
      }) => {
        const link = await session.withWorkspace(workspace, ({ pool }, tenant) =>
          addMember(pool, tenant.id, { email, name, role }, 'operator'),
        );
        await writeLink(session, link);
      },
    );
}

function addList(group: Command, session: Session): void {
  group
    .command('list')
    .description('List the members of a workspace, by name.')
    .requiredOption(...WORKSPACE_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('members list --workspace acme'))
    .action(async ({ workspace }: { workspace: string }) => {
      const members = await session.withWorkspace(workspace, ({ pool }, tenant) =>
        inTenantTransaction(pool, tenant.id, listMembers),
      );
      const rows = members.map(({ personId, joinedAt, ...member }) => ({ person_id: personId, ...member, joined_at: joinedAt }));
      await session.list(rows, 'no members yet; `members invite` creates a link for the first one', [
        ['NAME', ({ name }) => name],
        ['EMAIL', ({ email }) => email],
        ['ROLE', ({ role }) => role],
        ['JOINED', ({ joined_at }) => formatTime(joined_at)],
        ['PERSON ID', ({ person_id }) => person_id],
      ]);
    });
}

function addResetPassword(group: Command, session: Session): void {
  group
    .command('reset-password')
    .description('Let a person set a new password, for all their workspaces. Prints a link that works once, for an hour.')
    .requiredOption(...EMAIL_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', examples('members reset-password --email ada@example.com'))
    .action(async ({ email }: { email: string }) => {
      const link = await session.withDatabase(({ pool }) => createResetLinkByOperator(pool, email));
      await writeLink(session, link);
    });
}
