import { Problem } from '../base/errors/problem.ts';
import { type ContentEncoding, contentEncodings } from '../ingest/decompress.ts';
import type { IngestRequest } from '../ingest/request.ts';
import type { KeyCaller } from './endpoint.ts';
import type { RequestContext } from './request-context.ts';

const idempotencyKeyCharactersMax = 255;

export function writeHeaders(context: RequestContext, { key, organization }: KeyCaller) {
  return {
    encoding: contentEncoding(context.header('content-encoding')),
    organization,
    apiKey: key.id,
    idempotency: idempotency(context, key.id),
  };
}

/** Compression of a body of events (contract: Ingest). */
function contentEncoding(header: string | undefined): ContentEncoding {
  if (header === undefined) return 'identity';
  const name = header.trim().toLowerCase() || 'identity';
  const encoding = contentEncodings.find((one) => one === name || `x-${one}` === name);
  if (encoding !== undefined) return encoding;
  throw new Problem(
    'unsupported_media',
    'Content-Encoding must be one of gzip, deflate, br, zstd and identity.',
    { headers: { 'Accept-Encoding': 'gzip, deflate, br, zstd' } },
  );
}

function idempotency(context: RequestContext, apiKey: string): IngestRequest['idempotency'] {
  const key = idempotencyKey(context);
  return key === undefined ? undefined : { apiKey, key };
}

/** The Idempotency-Key (contract: Ingest); the same value sent several times is one. */
export function idempotencyKey(context: RequestContext): string | undefined {
  const header = context.header('idempotency-key');
  if (header === undefined) return undefined;
  const [key = '', ...others] = header.split('\n');
  if (others.some((other) => other !== key))
    throw new Problem('malformed', 'The request has several different Idempotency-Key headers.');
  const lengthMax = idempotencyKeyCharactersMax;
  if (key.length <= lengthMax && /^[\x20-\x7e]+$/.test(key)) return key;
  throw new Problem('malformed', `Idempotency-Key must be 1 to ${lengthMax} printable ASCII characters.`);
}
