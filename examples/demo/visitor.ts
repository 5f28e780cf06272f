import { inline, type Narrator, Unexpected } from './narrator.ts';
import type { Operator } from './operator.ts';

/** The visitor's account in the portal: a new one for each tour, without a password. */
const visitorOf = (workspace: string): string[] => [
  ...['--email', `visitor@${workspace}.example`],
  ...['--name', 'Visitor of the tour', '--role', 'admin'],
];

/** Makes the visitor a member of the tour's workspace. Returns the link that signs them in, once, at this address. */
export async function visitorLink(narrator: Narrator, operator: Operator, url: URL, workspace: string): Promise<string> {
  narrator.next('People see all of this in the portal. You get in by a link that works once, within the hour:');
  const link = await operator.run(['members', 'add', '--workspace', workspace, ...visitorOf(workspace)], {
    show: () => '(the link; it stands at the end of the tour)',
  });
  if (!URL.canParse(link)) throw new Unexpected(`members add: expected a link alone on standard output, got ${inline(link)}`);
  const { pathname, hash } = new URL(link);
  return `${url.origin}${pathname}${hash}`;
}
