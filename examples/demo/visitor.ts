import { CheckFailedError, type Narrator, oneLineJson } from './narrator.ts';
import type { Operator } from './operator.ts';

/** The options that create the visitor's account in the portal. Each tour has a new account, without a password. */
const accountOptions = (workspace: string): string[] => [
  ...['--email', `visitor@${workspace}.example`],
  ...['--name', 'Visitor of the tour', '--role', 'admin'],
];

/** Makes the visitor a member of the tour's workspace. Returns the one-time link that signs the visitor in at this address. */
export async function createVisitorLink(narrator: Narrator, operator: Operator, url: URL, workspace: string): Promise<string> {
  narrator.introduce('The portal shows all of this. A link signs you in; it works once, within one hour:');
  const link = await operator.run(['members', 'add', '--workspace', workspace, ...accountOptions(workspace)], {
    show: () => '(the link, printed at the end of the tour)',
  });
  if (!URL.canParse(link))
    throw new CheckFailedError(`members add: expected only a link on standard output, got ${oneLineJson(link)}`);
  const { pathname, hash } = new URL(link);
  return `${url.origin}${pathname}${hash}`;
}
