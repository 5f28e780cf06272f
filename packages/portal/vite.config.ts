import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { type PortalRoute, SIGNED_IN_AS } from '../core/src/portal/route.ts';
import { PORTAL_ROUTES } from '../core/src/portal/routes.ts';

/**
 * The module `virtual:portal-routes`: the method and path of every route by its name, and SIGNED_IN_AS, the name of a header. Vite reads
 * them from the contract when it builds the pages. The schemas are not in the bundle, because the server validates requests
 * (docs/decisions/0019).
 */
function portalRoutes(): Plugin {
  const name = 'virtual:portal-routes';
  return {
    name: 'countersign:portal-routes',
    resolveId: (id) => (id === name ? `\0${name}` : null),
    load: (id) => {
      if (id !== `\0${name}`) return null;
      const entries = Object.entries(PORTAL_ROUTES as Record<string, PortalRoute>);
      const methodsAndPaths = Object.fromEntries(entries.map(([key, { method, path }]) => [key, [method, path]]));
      return `export const SIGNED_IN_AS = ${JSON.stringify(SIGNED_IN_AS)}; export default ${JSON.stringify(methodsAndPaths)}`;
    },
  };
}

/** The size from which a file gets compressed copies. */
const COMPRESSED_BYTES_MIN = 600;

/**
 * Writes a `.br` and a `.gz` copy next to each script, style sheet, HTML file and SVG image of at least COMPRESSED_BYTES_MIN bytes. The
 * server sends these copies, so no request waits for compression.
 */
function compressedCopies(): Plugin {
  let folder = '';
  return {
    name: 'countersign:compressed',
    apply: 'build',
    configResolved: ({ root, build }) => {
      folder = join(root, build.outDir);
    },
    closeBundle: () => {
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(js|css|html|svg)$/.test(name)) continue;
        const bytes = readFileSync(join(folder, name));
        if (bytes.length < COMPRESSED_BYTES_MIN) continue;
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes));
        writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), portalRoutes(), compressedCopies()],
  worker: { format: 'es' },
  build: {
    target: 'es2024',
    // The content security policy allows data: URLs only for images, so small fonts and workers must stay files.
    assetsInlineLimit: 0,
    // One style sheet for all pages, loaded at the start. A style sheet of one page would not be requested again after it failed to load.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    // Small modules that several pages use are bundled into one file. Otherwise the overview would need 38 files instead of 12. Large
    // modules stay in their own files, so that only pages that use them load them.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'shared', minShareCount: 4, maxModuleSize: 20_000 }] } } },
  },
});
