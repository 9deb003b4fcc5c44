import { Problem } from '../../base/problem.ts';
import { formatMicros } from '../../base/timestamp.ts';
import type { EventName, Inclusion } from '../../evidence/evidence-reader.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SharedHandler } from '../endpoint.ts';
import type { RequestContext } from '../request-context.ts';
import { jsonReply } from '../response.ts';

/**
 * GET /api/v1/audit/evidence/proof: that an event (`position` or `seq`) is covered by a checkpoint, or, with `older`,
 * that a checkpoint continues an older one (contract: Read, evidence).
 */
export function evidenceProofHandler({ evidence }: Pick<EndpointDeps, 'evidence'>): SharedHandler {
  return async (context, { organization }) => {
    const size = readSize(context, 'size');
    const older = readSize(context, 'older');
    if (older === undefined) {
      const inclusion = await evidence.inclusion(organization.id, readEvent(context), size);
      return jsonReply(200, 'EvidenceInclusion', view(inclusion));
    }
    const { older: from, newer, hashes } = await evidence.consistency(organization.id, older, size);
    return jsonReply(200, 'EvidenceConsistency', {
      older: from.text,
      newer: newer.text,
      hashes: hashes.map((hash) => Buffer.from(hash).toString('base64')),
    });
  };
}

function view({ entry, source, asRecorded, checkpoint, proof }: Inclusion) {
  return {
    position: entry.position,
    seq: String(entry.seq),
    time: entry.time,
    ...(entry.expiryDay !== undefined && { expires: entry.expiryDay }),
    entry: entry.bytes.toString('base64'),
    ...(source !== undefined && { source, as_recorded: asRecorded === true }),
    signed_at: formatMicros(checkpoint.signedMicros),
    proof,
  };
}

function wrong(name: string): never {
  throw new Problem('malformed', `The parameter "${name}" must be a whole number in decimal digits.`);
}

/** A number of events: a parameter of a proof is never guessed at, as the answer would prove something else. */
export function readSize(context: RequestContext, name: string): number | undefined {
  const text = context.first(name) ?? '';
  if (text === '') return undefined;
  const size = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(size) ? size : wrong(name);
}

function readEvent(context: RequestContext): EventName {
  const seq = context.first('seq') ?? '';
  if (seq !== '') return /^\d{1,19}$/.test(seq) ? { seq: BigInt(seq) } : wrong('seq');
  const position = readSize(context, 'position');
  if (position !== undefined) return { position };
  throw new Problem('malformed', 'Name an event by "position" or "seq", or a checkpoint by "older".');
}
