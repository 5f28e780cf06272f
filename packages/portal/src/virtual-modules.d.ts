declare module 'virtual:portal-routes' {
  /** The method and path of every route of the portal's API by name, generated from packages/core/src/portal/routes.ts. */
  const routes: Record<string, readonly [method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string]>;
  export default routes;
  /** The name of the header with the ID of the person that the page shows as signed in (packages/core/src/portal/route.ts). */
  export const SIGNED_IN_AS: string;
}
