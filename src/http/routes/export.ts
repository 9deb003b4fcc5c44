import { selectingParameters } from '../../base/events/event-filters.ts';
import { Problem } from '../../base/errors/problem.ts';
import { formatMicros } from '../../base/time/timestamp.ts';
import { exported, keyActor, userActor } from '../../control/change-events.ts';
import { type ExportFormat, exportFormats } from '../../read/export.ts';
import { type EventSchema, readFilter } from '../../read/filter.ts';
import { QueryParameters } from '../../read/parameters.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SharedHandler } from '../endpoint.ts';
import { ignoredParameters } from '../read-headers.ts';
import { selfAuditOrigin } from '../self-audit.ts';

const contentTypes: Readonly<Record<ExportFormat, string>> = {
  ndjson: 'application/x-ndjson',
  json: 'application/json',
  csv: 'text/csv; charset=utf-8; header=present',
};

/** The export is recorded before its first byte; a later failure breaks the connection (contract: Read, export). */
export function exportHandler({ read, selfAudit, clock }: EndpointDeps): SharedHandler {
  return async (context, caller) => {
    const { organization } = caller;
    const parameters = new QueryParameters(context.query);
    const format = readFormat(parameters.text('format'));
    const filter = readFilter(parameters, organization);
    const now = clock();
    const schema = readSchema(parameters.text('schema'), format);
    const bom = readBom(parameters.text('bom'), format);
    const request = { format, filter, ...schema, ...(bom && { bom }) };
    const { total, longCells, stream } = await read.export(organization.id, request, now, context.signal);
    try {
      const actor = 'user' in caller ? userActor(caller.user) : keyActor(caller.key);
      const details = { format, ...schema, filters: filtersGiven(parameters), events: total };
      await selfAudit.recordBefore(exported(actor, organization.id, details), selfAuditOrigin(context));
    } catch (error) {
      stream.destroy();
      throw error;
    }
    const headers = {
      'Content-Type': contentTypes[format],
      'Content-Disposition': `attachment; filename="audit-${organization.slug}-${fileTime(now)}.${format}"`,
      'X-Total-Count': String(total),
      ...(longCells !== undefined && { 'X-Long-Cells': String(longCells) }),
      ...ignoredParameters(parameters),
    };
    return { status: 200, headers, stream };
  };
}

function readFormat(text: string | undefined): ExportFormat {
  if (text === undefined) return 'ndjson';
  const format = exportFormats.find((one) => one === text);
  if (format !== undefined) return format;
  throw new Problem('malformed', `The parameter "format" must be one of ${exportFormats.join(', ')}.`);
}

function readBom(text: string | undefined, format: ExportFormat): boolean {
  if (text === undefined || text === '0') return false;
  if (text === '1' && format === 'csv') return true;
  throw new Problem('malformed', 'The parameter "bom" must be 0, or 1 with format=csv.');
}

/** An unknown schema is refused: a file is requested once. */
function readSchema(text: string | undefined, format: ExportFormat): { readonly schema?: EventSchema } {
  if (text === undefined || text === 'default') return {};
  if (text !== 'ocsf') throw new Problem('malformed', 'The parameter "schema" must be default or ocsf.');
  if (format === 'csv')
    throw new Problem('malformed', 'CSV has its own columns; use schema=ocsf with format=ndjson or json.');
  return { schema: 'ocsf' };
}

/** As sent, not as interpreted. */
export function filtersGiven(parameters: QueryParameters): Record<string, string> {
  const given: Record<string, string> = {};
  for (const name of selectingParameters) {
    const value = parameters.text(name);
    if (value !== undefined) given[name] = value;
  }
  return given;
}

/** `20240506T070809Z`: valid in file names of every system. */
export const fileTime = (micros: number): string => formatMicros(micros).replaceAll(/[-:]|\.\d+/g, '');
