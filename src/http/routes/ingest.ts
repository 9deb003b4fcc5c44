import { limits as baseLimits } from '../../base/limits.ts';
import { limits as ingestLimits } from '../../ingest/limits.ts';
import { Problem } from '../../base/errors/problem.ts';
import type { MappingDefinition } from '../../adapters/definition.ts';
import { Mappings } from '../../adapters/mappings.ts';
import type { Accept } from '../../ingest/accept.ts';
import type { IngestRequest } from '../../ingest/request.ts';
import type { BodyForm } from '../../ingest/task.ts';
import { parseLimit } from '../../read/filter.ts';
import { QueryParameters } from '../../read/parameters.ts';
import type { KeyCaller, WriteHandler } from '../endpoint.ts';
import { writeHeaders } from '../ingest-headers.ts';
import { ignoredParameters } from '../read-headers.ts';
import { jsonReply } from '../response.ts';
import type { RequestContext } from '../request-context.ts';

/** 202 once the accepted events are durable (contract: Ingest). */
export function ingestHandler(accept: Accept, own: readonly MappingDefinition[]): WriteHandler {
  const mappings = new Mappings(own).names();
  return async (context, caller) => {
    const parameters = new QueryParameters(context.query);
    const headers = {
      ...readHeaders(context, parameters, caller),
      ...readAdapter(parameters.given('from'), mappings),
    };
    const received = await context.body();
    try {
      await caller.stillGood();
      const answer = await accept({ body: received.bytes, ...headers });
      return jsonReply(202, 'IngestAnswer', answer, ignoredParameters(parameters));
    } finally {
      received.release();
    }
  };
}

type IngestHeaders = Omit<IngestRequest, 'body'>;

function readHeaders(context: RequestContext, parameters: QueryParameters, caller: KeyCaller): IngestHeaders {
  const errorsMax = parameters.readCapped('maxErrors', parseLimit, baseLimits.rejectedErrorsAskedMax);
  return {
    form: bodyForm(context.header('content-type')),
    ...writeHeaders(context, caller),
    ...namedOrganization(parameters.given('org')),
    errorsMax: errorsMax ?? ingestLimits.rejectedErrorsReportedMax,
  };
}

const forms: ReadonlyMap<string, BodyForm> = new Map([
  ['application/json', 'json'],
  ['application/x-ndjson', 'ndjson'],
  ['application/ndjson', 'ndjson'],
  ['application/jsonl', 'ndjson'],
  ['application/x-jsonlines', 'ndjson'],
]);

function bodyForm(header: string | undefined): BodyForm {
  // Fast path for the usual spelling.
  const asWritten = header === undefined ? 'json' : forms.get(header);
  if (asWritten !== undefined) return asWritten;
  const [type = '', ...parameters] = (header ?? '').toLowerCase().split(';');
  const form = forms.get(type.trim());
  const charset = parameters.map((one) => one.trim()).find((one) => one.startsWith('charset='));
  const isUtf8 = charset === undefined || /^charset="?(utf-?8|us-ascii)"?$/.test(charset);
  if (form !== undefined && isUtf8) return form;
  const names = [...forms.keys()].join(', ');
  throw new Problem('unsupported_media', `Content-Type must be one of ${names}, in UTF-8.`, {
    headers: { Accept: names },
  });
}

/** Empty for source events (contract: Source adapters). */
function readAdapter(name: string | undefined, mappings: readonly string[]): Pick<IngestRequest, 'adapter'> {
  if (name === undefined) return {};
  if (mappings.includes(name)) return { adapter: name };
  throw new Problem('malformed', `from must be one of ${mappings.join(', ')}.`);
}

/** Ingest checks for each event whether it exists. */
function namedOrganization(org: string | undefined): Pick<IngestRequest, 'org'> {
  if (org === undefined) return {};
  if (/^[A-Za-z0-9-]{1,63}$/.test(org)) return { org };
  throw new Problem('malformed', 'org must be the id or the slug of an organization.');
}
