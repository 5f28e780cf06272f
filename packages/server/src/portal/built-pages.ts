import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the built pages: next to this package in a checkout, inside it when packed. */
export const PAGES_FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../../portal/dist/' : '../portal/', import.meta.url),
);

/** A file of the build, plain and compressed. */
export interface BuiltFile {
  contentType: string;
  etag: string;
  plain: Buffer;
  /** The compressed forms. The build makes them only for some types of files, and not for small files. */
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
 * The built files by their paths: a few megabytes, which are read once. So no path of a request is ever looked up on disk, and a running
 * server has a consistent set while the pages are rebuilt. Empty if the pages are not built.
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
    files.set(path, {
      contentType,
      etag: etagOf(plain),
      plain,
      br: readIfPresent(`${file}.br`),
      gzip: readIfPresent(`${file}.gz`),
    });
  }
  return files;
}

const readIfPresent = (file: string): Buffer | undefined => (existsSync(file) ? readFileSync(file) : undefined);

const etagOf = (bytes: Buffer): string => `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
