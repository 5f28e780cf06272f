import { agentRoutes } from './agent-routes.ts';
import { approvalRoutes } from './approval-routes.ts';
import { decisionRoutes } from './decision-routes.ts';
import { evaluationRoutes } from './evaluation-routes.ts';
import { incidentRoutes } from './incident-routes.ts';
import { keyRoutes } from './key-routes.ts';
import { ledgerRoutes } from './ledger-routes.ts';
import { linkRoutes } from './link-routes.ts';
import { memberRoutes } from './member-routes.ts';
import type { PortalRoute } from './route.ts';
import { runRoutes } from './run-routes.ts';
import { sessionRoutes } from './session-routes.ts';
import { signingRoutes } from './signing-routes.ts';
import { workspaceRoutes } from './workspace-routes.ts';

/** The routes for the pages of a workspace, except the page of its members. */
export const PAGE_ROUTES = {
  ...workspaceRoutes,
  ...agentRoutes,
  ...runRoutes,
  ...evaluationRoutes,
  ...approvalRoutes,
  ...decisionRoutes,
  ...ledgerRoutes,
  ...incidentRoutes,
  ...keyRoutes,
  ...signingRoutes,
} as const satisfies Record<string, PortalRoute>;

/** Every route of the portal's API by name. */
export const PORTAL_ROUTES = {
  ...sessionRoutes,
  ...linkRoutes,
  ...memberRoutes,
  ...PAGE_ROUTES,
} as const satisfies Record<string, PortalRoute>;

/** The name of a route: `<subject>.<action>`. */
export type RouteName = keyof typeof PORTAL_ROUTES;
export type RouteOf<N extends RouteName> = (typeof PORTAL_ROUTES)[N];
