import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { linkRoutes } from '../core/src/portal/link-routes.ts';
import { memberRoutes } from '../core/src/portal/member-routes.ts';
import type { PortalRoute } from '../core/src/portal/route.ts';
import { PAGE_ROUTES, PORTAL_ROUTES } from '../core/src/portal/routes.ts';

/**
 * `virtual:portal-routes`: method and path of every route, read from the contract when the pages are built. The schemas
 * themselves stay out of the bundle: the server validates, and their types cost nothing (docs/decisions/0019).
 */
function portalRoutes(): Plugin {
  const name = 'virtual:portal-routes';
  return {
    name: 'countersign:portal-routes',
    resolveId: (id) => (id === name ? `\0${name}` : null),
    load: (id) => {
      if (id !== `\0${name}`) return null;
      const entries = Object.entries({ ...PORTAL_ROUTES, ...PAGE_ROUTES, ...linkRoutes, ...memberRoutes } as Record<
        string,
        PortalRoute
      >);
      return `export default ${JSON.stringify(Object.fromEntries(entries.map(([key, { method, path }]) => [key, [method, path]])))}`;
    },
  };
}

export default defineConfig({
  plugins: [react(), portalRoutes()],
  worker: { format: 'es' },
  build: {
    target: 'es2024',
    // The policy of the pages allows no data: URLs but for pictures; a small font or worker must stay a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
});
