import { limits as baseLimits } from '../../base/limits.ts';
import { limits } from '../limits.ts';
import { limits as ingestLimits } from '../../ingest/limits.ts';
import { Problem } from '../../base/problem.ts';
import { foreignNames, isForeignName } from '../../foreign/definition.ts';
import type { Accept } from '../../ingest/accept.ts';
import { type ContentEncoding, contentEncodings } from '../../ingest/decompress.ts';
import type { IngestRequest } from '../../ingest/request.ts';
import type { BodyForm } from '../../ingest/task.ts';
import { readLimit } from '../../read/filter.ts';
import type { KeyCaller, WriteHandler } from '../endpoint.ts';
import { jsonReply } from '../response.ts';
import type { RequestContext } from '../request-context.ts';

/** POST /api/v1/audit: stores source events; 202 once the accepted ones are durable (contract: Ingest). */
export function ingestHandler(accept: Accept): WriteHandler {
  return async (context, caller) => {
    const headers = readHeaders(context, caller);
    const received = await context.body();
    try {
      const answer = await accept({ body: received.bytes, ...headers });
      return jsonReply(202, 'IngestAnswer', answer);
    } finally {
      received.release();
    }
  };
}

type IngestHeaders = Omit<IngestRequest, 'body'>;

function readHeaders(context: RequestContext, { key, organization }: KeyCaller): IngestHeaders {
  return {
    form: bodyForm(context.header('content-type')),
    encoding: contentEncoding(context.header('content-encoding')),
    ...foreignRecords(context.first('from')),
    organization,
    apiKey: key.id,
    idempotency: idempotency(context.header('idempotency-key'), key.id),
    errorsMax: readLimit(
      context.first('maxErrors'),
      ingestLimits.rejectedErrorsReportedMax,
      baseLimits.rejectedErrorsAskedMax,
    ),
  };
}

const forms: Readonly<Record<string, BodyForm>> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/x-jsonlines': 'ndjson',
};

function bodyForm(header: string | undefined): BodyForm {
  const [type = '', ...parameters] = (header ?? 'application/json').toLowerCase().split(';');
  const form = forms[type.trim()];
  const charset = parameters.map((one) => one.trim()).find((one) => one.startsWith('charset='));
  const isUtf8 = charset === undefined || /^charset="?(utf-?8|us-ascii)"?$/.test(charset);
  if (form !== undefined && isUtf8) return form;
  throw new Problem(
    'unsupported_media',
    `Content-Type must be one of ${Object.keys(forms).join(', ')}, in UTF-8.`,
    { headers: { Accept: Object.keys(forms).join(', ') } },
  );
}

/** Whose records the body holds (contract: Foreign records); nothing where it holds source events. */
function foreignRecords(name: string | undefined): Pick<IngestRequest, 'foreign'> {
  if (name === undefined || name === '') return {};
  if (isForeignName(name)) return { foreign: name };
  throw new Problem('malformed', `from must be one of ${foreignNames.join(', ')}.`);
}

function contentEncoding(header: string | undefined): ContentEncoding {
  const name = (header ?? '').trim().toLowerCase() || 'identity';
  const encoding = contentEncodings.find((one) => one === name || `x-${one}` === name);
  if (encoding !== undefined) return encoding;
  throw new Problem(
    'unsupported_media',
    'Content-Encoding must be one of gzip, deflate, br, zstd and identity.',
    {
      headers: { 'Accept-Encoding': 'gzip, deflate, br, zstd' },
    },
  );
}

function idempotency(key: string | undefined, apiKey: string): IngestRequest['idempotency'] {
  if (key === undefined) return undefined;
  const lengthMax = limits.idempotencyKeyCharactersMax;
  if (key.length <= lengthMax && /^[\x20-\x7e]+$/.test(key)) return { apiKey, key };
  throw new Problem('malformed', `Idempotency-Key must be 1 to ${lengthMax} printable ASCII characters.`);
}
