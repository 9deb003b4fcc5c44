import { Problem, type ProblemCode, problemTable } from '../../base/errors/problem.ts';
import { exportAnswer, mediaTypes, type PartialSuccess, statusAnswer } from '../../adapters/otlp/answer.ts';
import type { OtlpForm } from '../../adapters/otlp/export.ts';
import type { Accept } from '../../ingest/accept.ts';
import type { BatchAnswer } from '../../ingest/answer-records.ts';
import type { WriteHandler } from '../endpoint.ts';
import { writeHeaders } from '../ingest-headers.ts';
import type { ProblemForm } from '../request.ts';

const otlpErrorsNamedMax = 10;

/** 200 once the accepted records are durable (contract: OTLP). */
export function otlpLogsHandler(accept: Accept): WriteHandler {
  return async (context, caller) => {
    const form = parseForm(context.header('content-type'));
    if (form === undefined) {
      const types = Object.values(mediaTypes).join(', ');
      throw new Problem('unsupported_media', `Content-Type must be one of ${types}.`, {
        headers: { Accept: types },
      });
    }
    const headers = { ...writeHeaders(context, caller), errorsMax: otlpErrorsNamedMax };
    const received = await context.body();
    try {
      await caller.stillGood();
      const answer = await otlpAnswer(
        accept({ ...headers, body: received.bytes, form: 'ndjson', adapter: 'otlp', otlp: form }),
      );
      const body = exportAnswer(form, partialSuccess(answer));
      return { status: 200, headers: { 'Content-Type': mediaTypes[form] }, body };
    } finally {
      received.release();
    }
  };
}

function parseForm(contentType: string | undefined): OtlpForm | undefined {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (type === mediaTypes.json) return 'json';
  return type === mediaTypes.protobuf ? 'protobuf' : undefined;
}

/** OTLP answers success even if no record was accepted. */
async function otlpAnswer(answer: Promise<BatchAnswer>): Promise<BatchAnswer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'nothing_accepted') throw error;
    return error.options.members as unknown as BatchAnswer;
  }
}

function partialSuccess({ accepted, rejected, errors }: BatchAnswer): PartialSuccess | undefined {
  if (rejected === 0) return undefined;
  const named = errors.map(({ index, error }) => `record ${index}: ${error}`).join('; ');
  const more = rejected > errors.length ? '; and others' : '';
  const errorMessage = `${rejected} of ${accepted + rejected} log records were rejected: ${named}${more}`;
  return { rejectedLogRecords: rejected, errorMessage };
}

/** Codes of google.rpc.Code. */
const statusCodes: Readonly<Record<ProblemCode, number>> = {
  malformed: 3,
  nothing_accepted: 3,
  too_many_events: 3,
  unauthorized: 16,
  forbidden: 7,
  not_found: 5,
  method_not_allowed: 12,
  too_slow: 4,
  conflict: 10,
  too_large: 3,
  unsupported_media: 3,
  key_reused: 9,
  rate_limited: 8,
  internal: 13,
  unavailable: 14,
};

/**
 * google.rpc.Status in the request's encoding. Exporters repeat a request after 503 and drop it after 500, so an internal error
 * is a 503 here.
 */
export const otlpStatus: ProblemForm = ({ code, message }, { headers }) => {
  const form = parseForm(headers.get('content-type')) ?? 'json';
  const { status } = problemTable[code];
  return {
    status: status === 500 ? problemTable.unavailable.status : status,
    type: mediaTypes[form],
    body: statusAnswer(form, statusCodes[code], message),
  };
};
