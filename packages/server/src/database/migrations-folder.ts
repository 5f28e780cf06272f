import { fileURLToPath } from 'node:url';

/** The folder `migrations/` of the package, relative to src/database or to dist. No migration can be undone. */
export const MIGRATIONS_FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../migrations/' : '../migrations/', import.meta.url),
);

/** The path of a file in the folder of the migrations. */
export const migrationsFile = (name: string): string => `${MIGRATIONS_FOLDER}${name}`;
