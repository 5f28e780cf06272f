import type { Pool } from 'pg';
import { findTenantById, findTenantsByName, type Tenant } from '../storage/tenants.ts';
import { RuleViolationError } from './rule-violation.ts';

/** A text in this form is always treated as an ID. Tenants choose their names, so the name of one workspace could be the ID of another. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The maximum number of workspaces with the same name that a message lists. */
const LISTED_MAX = 10;

/**
 * Finds a workspace by its ID, or by its name if only one workspace has it. Only for the operator, because it reads across tenants.
 * @throws RuleViolationError if no workspace or more than one matches, or if a row that was found by name was changed outside the server.
 */
export async function findWorkspace(pool: Pool, nameOrId: string): Promise<Tenant> {
  const matches = UUID.test(nameOrId)
    ? await findTenantById(pool, nameOrId).then((one) => (one === undefined ? [] : [one]))
    : await findTenantsByName(pool, nameOrId);
  const quoted = JSON.stringify(nameOrId);
  const [workspace] = matches;
  const changedRow = matches.find(({ isSealed }) => !isSealed);
  // If a workspace is given by its ID, commands accept it even if its row was changed. They show the ID instead of its name.
  if (changedRow !== undefined && !UUID.test(nameOrId)) {
    throw new RuleViolationError(
      `the row of the table tenants with id ${changedRow.id}, named ${quoted}, has an invalid seal: it was changed outside the server, so ${quoted} may be the name of another workspace. Restore the row from a backup, or give the ID of the workspace`,
    );
  }
  if (workspace === undefined)
    throw new RuleViolationError(`there is no workspace ${quoted}; \`workspace list\` shows all workspaces`);
  if (matches.length === 1) return workspace;
  const listedIds = matches.slice(0, LISTED_MAX).map(({ id, createdAt }) => `${id} (created ${createdAt})`);
  const more = matches.length > LISTED_MAX ? ` and ${matches.length - LISTED_MAX} more, which \`workspace list\` shows` : '';
  throw new RuleViolationError(
    `${matches.length} workspaces are named ${quoted}; give the ID of one: ${listedIds.join(', ')}${more}`,
  );
}

/**
 * The first of these workspaces as an argument of `--workspace`: its name, or its ID if the name is not unique or looks like an ID.
 */
export function workspaceArgument(workspaces: readonly [NamedWorkspace, ...NamedWorkspace[]]): string {
  const [first] = workspaces;
  const isNameUsable = !UUID.test(first.name) && workspaces.every(({ id, name }) => id === first.id || name !== first.name);
  return isNameUsable ? first.name : first.id;
}

type NamedWorkspace = Pick<Tenant, 'id' | 'name'>;
