import { Problem } from '../../base/problem.ts';
import { formatMicros } from '../../base/timestamp.ts';
import { type EventName, type Inclusion, uncovered } from '../../evidence/evidence-reader.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SharedHandler } from '../endpoint.ts';
import type { RequestContext } from '../request-context.ts';
import { jsonReply } from '../response.ts';

/**
 * GET /api/v1/audit/evidence/proof: that an event (`uid`, `seq` or `position`) is covered by a checkpoint, or, with `older`,
 * that a checkpoint continues an older one (contract: Read, evidence).
 */
export function evidenceProofHandler({ evidence }: Pick<EndpointDeps, 'evidence'>): SharedHandler {
  return async (context, { organization }) => {
    const size = readSize(context, 'size');
    const older = readSize(context, 'older');
    if (older === undefined) {
      const inclusion = await evidence.inclusion(organization.id, readEvent(context, organization.id), size);
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

/** The `metadata.uid` of an event with `schema=ocsf`: the organization, and the order number. */
const uidPattern = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-(\d{1,19})$/;

function readEvent(context: RequestContext, organization: string): EventName {
  const uid = context.first('uid') ?? '';
  if (uid !== '') {
    const [, ofOrganization, seq = ''] = uidPattern.exec(uid) ?? [];
    if (ofOrganization === undefined)
      throw new Problem(
        'malformed',
        'The parameter "uid" must be the metadata.uid of an event: the id of an organization, a hyphen and an order number.',
      );
    // An event of another organization is told of as one that there has never been.
    if (ofOrganization !== organization) throw uncovered('absent');
    return { seq: BigInt(seq) };
  }
  const seq = context.first('seq') ?? '';
  if (seq !== '') return /^\d{1,19}$/.test(seq) ? { seq: BigInt(seq) } : wrong('seq');
  const position = readSize(context, 'position');
  if (position !== undefined) return { position };
  throw new Problem('malformed', 'Name an event by "uid", "seq" or "position", or a checkpoint by "older".');
}
