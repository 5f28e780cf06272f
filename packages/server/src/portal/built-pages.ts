import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the build puts the pages: beside this package in a checkout, inside it when it is packed. */
export const PAGES_FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../../portal/dist/' : '../portal/', import.meta.url),
);

/** A file as it is sent, plain and compressed. */
export interface BuiltFile {
  contentType: string;
  etag: string;
  plain: Buffer;
  /** Made by the build where they are worth it. */
  br: Buffer | undefined;
  gzip: Buffer | undefined;
}

const CONTENT_TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

/**
 * The built files by their paths, read once: a few megabytes. A path that is not in here is not there, so no path of a request is ever
 * looked up on the disk; and a server that runs while the pages are built anew goes on serving those that belong together.
 */
export function readBuiltPages(folder: string): ReadonlyMap<string, BuiltFile> {
  const files = new Map<string, BuiltFile>();
  if (!existsSync(join(folder, 'index.html'))) return files;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const contentType = CONTENT_TYPES[extname(entry.name)];
    if (!entry.isFile() || contentType === undefined) continue;
    const file = join(entry.parentPath, entry.name);
    const plain = readFileSync(file);
    const path = `/${file.slice(folder.length).replaceAll('\\', '/').replace(/^\//, '')}`;
    files.set(path, { contentType, etag: etagOf(plain), plain, br: ifThere(`${file}.br`), gzip: ifThere(`${file}.gz`) });
  }
  return files;
}

const ifThere = (file: string): Buffer | undefined => (existsSync(file) ? readFileSync(file) : undefined);

const etagOf = (bytes: Buffer): string => `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
