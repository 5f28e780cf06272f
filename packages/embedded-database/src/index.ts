/** The public interface of the package: everything else in this folder is internal. */
export {
  acquireEmbeddedDatabase,
  type ConnectionSettings,
  type EmbeddedDatabase,
  EmbeddedDatabaseError,
  type EmbeddedDatabaseErrorCode,
  type EmbeddedDatabaseOptions,
} from './embedded-database.ts';
export { maxWalBytes } from './postgres-settings.ts';
