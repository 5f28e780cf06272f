/** Version of this package, as `countersign-server --version` says it. A test holds it to package.json. */
export const VERSION = '0.1.0';
