/** Path and text of each declaration file of the package, index.d.ts first. @param home the package's folder, with a final slash */
export function declarations(home: string): Map<string, string>;
