import { type PortalRoute, ROLES } from '@countersign/core/portal/route';
import { isRole } from './signed-in.ts';

const WORKSPACE_PATH = '/api/portal/workspaces/:workspace/';
const RULES: readonly string[] = ['anyone', 'person', ...ROLES];

/**
 * Returns the errors of a table of routes, one sentence each. It finds routes without a handler, a rule or a choice of compression, and
 * handlers without a route. It also finds rules that do not fit their paths, and routes with the same method and path. The compiler finds
 * most of them; the server checks all when it starts.
 */
export function findRouteErrors(
  routes: Readonly<Record<string, PortalRoute>>,
  handlers: Readonly<Record<string, unknown>>,
): string[] {
  const methodsAndPaths = new Set<string>();
  const errors = Object.keys(handlers).flatMap((name) => (name in routes ? [] : [`${name} has a handler but no route`]));
  for (const [name, { method, path, access, compressed }] of Object.entries(routes)) {
    const methodAndPath = `${method} ${path.replace(/:\w+/g, ':')}`;
    if (typeof handlers[name] !== 'function') errors.push(`${name} has no handler`);
    if (!RULES.includes(access)) errors.push(`${name} has no rule`);
    if (typeof compressed !== 'boolean') errors.push(`${name} does not say whether it is compressed`);
    if (isRole(access) !== path.startsWith(WORKSPACE_PATH))
      errors.push(`${name} has a role and no workspace, or a workspace and no role`);
    if (methodsAndPaths.has(methodAndPath)) errors.push(`${name} has the method and path of another route: ${methodAndPath}`);
    methodsAndPaths.add(methodAndPath);
  }
  return errors;
}
