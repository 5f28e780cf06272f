import { linkRoutes } from './link-routes.ts';
import { memberRoutes } from './member-routes.ts';
import type { PortalRoute } from './route.ts';
import { sessionRoutes } from './session-routes.ts';

/** Every route of the portal's API by name; each file of this room adds its own. The role tests are made of this table. */
export const PORTAL_ROUTES = {
  ...sessionRoutes,
  ...linkRoutes,
  ...memberRoutes,
} as const satisfies Record<string, PortalRoute>;

/** The name of a route: `<subject>.<what is done>`. */
export type RouteName = keyof typeof PORTAL_ROUTES;
export type RouteOf<N extends RouteName> = (typeof PORTAL_ROUTES)[N];
