import { Problem } from '../../base/errors/problem.ts';
import type { PageFile, PageFiles } from '../page-files.ts';
import { negotiateEncoding } from '../encoding.ts';
import { limits } from '../limits.ts';
import type { RequestContext } from '../request-context.ts';
import type { FixedReply, ReplyHeaders } from '../response.ts';
import type { Handler } from '../router.ts';

/**
 * What the page may do in a browser: run its own scripts and styles from files, ask this server, and nothing else. No
 * text of an event can become a script: there are no inline ones, and no script may make markup of a text.
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
  // Kept, and asked for each time whether it is still the same.
  'Cache-Control': 'no-cache',
};

/** The name of a file has a hash of what is in it. */
const assetHeaders = { 'Cache-Control': `public, max-age=${limits.pageFileKeptSeconds}, immutable` };

/** GET /: the document of the web page. */
export function pageHandler(files: PageFiles | undefined): Handler {
  return (context) => {
    const file = files?.get('index.html');
    if (file !== undefined) return fileReply(context, file, documentHeaders);
    throw new Problem(
      'not_found',
      'The web page has not been built: npm run build:web makes it. The API works without.',
    );
  };
}

/** GET /assets/…: scripts, styles and pictures of the page. */
export function pageFileHandler(files: PageFiles | undefined): Handler {
  return (context) => {
    const file = files?.get(`assets/${context.parameter('file')}`);
    if (file === undefined) throw new Problem('not_found', 'The page has no such file.');
    return fileReply(context, file, assetHeaders);
  };
}

function fileReply(context: RequestContext, file: PageFile, more: ReplyHeaders): FixedReply {
  const headers = { ...more, ETag: file.etag, 'Content-Type': file.type };
  if (context.header('if-none-match')?.includes(file.etag) === true) return { status: 304, headers };
  const offered = (['br', 'gzip'] as const).filter((encoding) => file[encoding] !== undefined);
  const encoding = negotiateEncoding(context.header('accept-encoding'), offered);
  const body = encoding === undefined ? undefined : file[encoding];
  if (encoding === undefined || body === undefined) return { status: 200, headers, body: file.identity };
  const encoded = { ...headers, 'Content-Encoding': encoding, Vary: 'Accept-Encoding' };
  return { status: 200, headers: encoded, body };
}
