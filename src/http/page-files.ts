import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorCode } from '../base/errors/system-error.ts';

/** A file of the web page as it is sent: as it is, and where that is shorter, in brotli and gzip. */
export interface PageFile {
  readonly type: string;
  readonly etag: string;
  readonly identity: Uint8Array;
  readonly br?: Uint8Array;
  readonly gzip?: Uint8Array;
}

/** By their path in the folder, such as `index.html` or `assets/main-3kd8.js`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Beside both `src` and the compiled `dist/http`: the page is built into `dist/web` either way. */
const builtPage = fileURLToPath(new URL('../../dist/web/', import.meta.url));

/**
 * Reads the built page into memory; `npm run build:web` compresses each file ahead (`x.js.br`, `x.js.gz`). No files
 * where the page has not been built.
 */
export async function loadPageFiles(folder: string = builtPage): Promise<PageFiles> {
  const contents = new Map<string, Uint8Array>();
  for (const name of await fileNames(folder)) contents.set(name, await readFile(join(folder, name)));
  const files = new Map<string, PageFile>();
  for (const [name, identity] of contents) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const [br, gzip] = [contents.get(`${name}.br`), contents.get(`${name}.gz`)];
    files.set(name, { type, etag: etagOf(identity), identity, ...(br && { br }), ...(gzip && { gzip }) });
  }
  return files;
}

async function fileNames(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Weak, since it is the same whichever encoding is sent. */
function etagOf(bytes: Uint8Array): string {
  return `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
}
