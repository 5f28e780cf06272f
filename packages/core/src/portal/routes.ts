import type { PortalRoute } from './route.ts';

/** Every route of the portal's API by name; each file of this room adds its own. The role tests are made of this table. */
export const PORTAL_ROUTES = {} as const satisfies Record<string, PortalRoute>;
