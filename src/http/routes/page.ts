import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Problem } from '../../base/errors/problem.ts';
import { ifThere } from '../../base/errors/system-error.ts';
import { negotiateEncoding } from '../encoding.ts';
import type { RequestContext } from '../request-context.ts';
import type { FixedReply, ReplyHeaders } from '../response.ts';
import type { Handler } from '../router.ts';

const pageFileKeptSeconds = 365 * 24 * 3600;

/**
 * Only own scripts and styles from files, and calls to this server: no text of an event can become a script.
 */
const documentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const documentHeaders = {
  'Content-Security-Policy': documentPolicy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  // Cached, but revalidated each time.
  'Cache-Control': 'no-cache',
};

/** The name contains a hash of the content. */
const assetHeaders = { 'Cache-Control': `public, max-age=${pageFileKeptSeconds}, immutable` };

export function pageHandler(files: PageFiles | undefined): Handler {
  return (context) => {
    const file = files?.get('index.html');
    if (file !== undefined) return fileReply(context, file, documentHeaders);
    throw new Problem(
      'not_found',
      'The web page is not built; run npm run build:web. The API works without it.',
    );
  };
}

export function pageFileHandler(files: PageFiles | undefined): Handler {
  return (context) => {
    const file = files?.get(`assets/${context.parameter('file')}`);
    if (file === undefined) throw new Problem('not_found', 'The page has no such file.');
    return fileReply(context, file, assetHeaders);
  };
}

function fileReply(context: RequestContext, file: PageFile, more: ReplyHeaders): FixedReply {
  const headers = { ...more, ETag: file.etag, 'Content-Type': file.type };
  if (isKnown(context.header('if-none-match'), file.etag))
    return { status: 304, headers: { ...headers, Vary: 'Accept-Encoding' } };
  const offered = (['br', 'gzip'] as const).filter((encoding) => file[encoding] !== undefined);
  const encoding = negotiateEncoding(context.header('accept-encoding'), offered);
  const body = encoding === undefined ? undefined : file[encoding];
  if (encoding === undefined || body === undefined) return { status: 200, headers, body: file.identity };
  const encoded = { ...headers, 'Content-Encoding': encoding, Vary: 'Accept-Encoding' };
  return { status: 200, headers: encoded, body };
}

/** Weak comparison (RFC 9110, 13.1.2). */
function isKnown(known: string | undefined, etag: string): boolean {
  return known !== undefined && (known.trim() === '*' || known.includes(etag.slice('W/'.length)));
}

/** A file of the page: plain, and in brotli and gzip if shorter. */
export interface PageFile {
  readonly type: string;
  readonly etag: string;
  readonly identity: Uint8Array;
  readonly br?: Uint8Array;
  readonly gzip?: Uint8Array;
}

export type PageFiles = ReadonlyMap<string, PageFile>;

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const builtPage = fileURLToPath(new URL('../../../dist/web/', import.meta.url));

/** `npm run build:web` compresses each file ahead (`x.js.br`, `x.js.gz`). Empty if the page is not built. */
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
  const entries = (await ifThere(readdir(folder, { recursive: true, withFileTypes: true }))) ?? [];
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** Weak, because all encodings share it. */
function etagOf(bytes: Uint8Array): string {
  return `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
}
