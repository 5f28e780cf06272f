import { readFileSync } from 'node:fs';

/** Reads a file of golden or published vectors. Each file names its origin. */
// biome-ignore lint/suspicious/noExplicitAny: every vector file has its own form.
export const vectors = (name: string): any => JSON.parse(readFileSync(new URL(`vectors/${name}.json`, import.meta.url), 'utf8'));
