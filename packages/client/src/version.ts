/** Version of this package, as it is said in `User-Agent`. A test holds it to package.json. */
export const VERSION = '0.1.0';
