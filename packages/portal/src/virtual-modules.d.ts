declare module 'virtual:portal-routes' {
  /** Method and path of every route of the portal's API, by its name; made from the contract when the pages are built. */
  const places: Record<string, readonly [method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string]>;
  export default places;
  /** The header by which a page says whom it shows (core/portal/route.ts). */
  export const SIGNED_IN_AS: string;
}
