/** Version of this package, printed by `countersign-server --version`. A test compares it with package.json. */
export const VERSION = '0.1.0';
