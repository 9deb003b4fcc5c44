import { zip } from '../../base/bytes/zip.ts';
import { Problem } from '../../base/errors/problem.ts';
import { formatMicros } from '../../base/time/timestamp.ts';
import type { Answer } from '../../contract/document.ts';
import { stringify } from '../../contract/stringify.ts';
import { exported, keyActor, userActor } from '../../control/change-events.ts';
import { filesOfCase } from '../../evidence/case-file.ts';
import {
  type EventName,
  type EvidenceReader,
  type Inclusion,
  uncovered,
} from '../../evidence/evidence-reader.ts';
import { caseSlots } from '../../read/fair-queue.ts';
import { readFilter } from '../../read/filter.ts';
import { QueryParameters } from '../../read/parameters.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SharedHandler } from '../endpoint.ts';
import { ignoredParameters } from '../read-headers.ts';
import type { RequestContext } from '../request-context.ts';
import { jsonLine, jsonReply } from '../response.ts';
import { selfAuditOrigin } from '../self-audit.ts';
import { publicAddress } from '../sign-on-address.ts';
import { fileTime, filtersGiven } from './export.ts';

/** The newest checkpoint, or the oldest of at least `size` events (contract: Read, evidence). */
export function evidenceCheckpointHandler({ evidence }: Pick<EndpointDeps, 'evidence'>): SharedHandler {
  return async (context, { organization }) => {
    const { text } = await evidence.checkpoint(organization.id, readSize(context, 'size'));
    return { status: 200, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: text };
  };
}

/** Newest last, each with its predecessor's signature; and when the evidence began. */
export function evidenceKeyHandler({ evidence }: Pick<EndpointDeps, 'evidence'>): SharedHandler {
  return async (_, { organization }) =>
    jsonReply(200, 'EvidenceKeys', await publishedKeys(evidence, organization.id));
}

async function publishedKeys(
  evidence: EvidenceReader,
  organization: string,
): Promise<Answer<'EvidenceKeys'>> {
  const { origin, keys, progress } = await evidence.keys(organization);
  return {
    origin,
    keys: keys.map(({ verifierKey, statement, addedMicros }) => ({
      key: verifierKey,
      added_at: formatMicros(addedMicros),
      ...(statement !== '' && { statement }),
    })),
    ...(progress !== undefined && {
      begun_at: formatMicros(progress.begunMicros),
      begun_before_seq: String(progress.begunBefore),
    }),
  };
}

/** One .zip that `auditlog verify` checks without the service (contract: Read, evidence). It is recorded as an export. */
export function evidenceCaseHandler(deps: EndpointDeps): SharedHandler {
  const { config, read, evidence, selfAudit, clock } = deps;
  const slots = caseSlots();
  return async (context, caller) => {
    const { organization } = caller;
    const release = await slots.acquire(organization.id, context.signal);
    try {
      const parameters = new QueryParameters(context.query);
      const filter = readFilter(parameters, organization);
      const now = clock();
      const filters = filtersGiven(parameters);
      const events = await read.caseEvents(organization.id, { filter }, now, context.signal);
      const actor = 'user' in caller ? userActor(caller.user) : keyActor(caller.key);
      const files = await filesOfCase(evidence, {
        organization,
        filters,
        link: pageLink(publicAddress(context, config, organization.slug), filters),
        madeMicros: now,
        madeBy: { ...actor },
        events,
        keys: jsonLine(stringify('EvidenceKeys', await publishedKeys(evidence, organization.id))),
      });
      const body = await zip(files, now / 1000);
      const details = { format: 'case', filters, events: events.length };
      await selfAudit.recordBefore(exported(actor, organization.id, details), selfAuditOrigin(context));
      const headers = {
        'Content-Type': 'application/zip',
        'Content-Disposition': `attachment; filename="case-${organization.slug}-${fileTime(now)}.zip"`,
        'X-Total-Count': String(events.length),
        ...ignoredParameters(parameters),
      };
      return { status: 200, headers, body };
    } finally {
      release();
    }
  };
}

/** Without an address only the path. */
function pageLink(address = '', filters: Readonly<Record<string, string>>): string {
  const { startTime, endTime, orgId: _, ...others } = filters;
  const times = { ...(startTime && { from: startTime }), ...(endTime && { to: endTime }) };
  const range = Object.keys(times).length === 0 ? { range: 'all' } : times;
  return `${address}/#/events?${new URLSearchParams({ ...range, ...others }).toString()}`;
}

/** Paths of C2SP tlog-tiles. */
export function evidenceTileHandler({ evidence }: Pick<EndpointDeps, 'evidence'>): SharedHandler {
  return async (context, { organization }) => {
    const body = await evidence.tile(organization.id, `tile/${context.parameter('path')}`);
    if (body === undefined) throw new Problem('not_found', 'The tree has no such tile.');
    return { status: 200, headers: { 'Content-Type': 'application/octet-stream' }, body };
  };
}

/** Proves that a checkpoint covers an event (`uid`, `seq` or `position`) or, with `older`, continues an older checkpoint. */
export function evidenceProofHandler({ evidence }: Pick<EndpointDeps, 'evidence'>): SharedHandler {
  return async (context, { organization }) => {
    refuseContradiction(context);
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

function view({ entry, source, shown, asRecorded, checkpoint, proof }: Inclusion) {
  return {
    position: entry.position,
    seq: String(entry.seq),
    time: entry.time,
    ...(entry.expiryDay !== undefined && { expires: entry.expiryDay }),
    entry: entry.bytes.toString('base64'),
    ...(source !== undefined && {
      source,
      shown: shown?.toString('base64'),
      as_recorded: asRecorded === true,
    }),
    signed_at: formatMicros(checkpoint.signedMicros),
    proof,
  };
}

/** Refuses several subjects of one proof: the meant one is unknown. */
function refuseContradiction(context: RequestContext): void {
  const given = ['uid', 'seq', 'position', 'older'].filter((name) => (context.first(name) ?? '') !== '');
  if (given.length <= 1) return;
  const names = given.map((name) => `"${name}"`).join(' and ');
  throw new Problem('malformed', `Only one of the parameters ${names} is allowed.`);
}

const seqMax = 2n ** 64n - 1n;

function wrong(name: string, max: number | bigint): never {
  throw new Problem(
    'malformed',
    `The parameter "${name}" must be a whole number in decimal digits, at most ${max}.`,
  );
}

/** An invalid number of events is refused, because a default would prove something else. */
function readSize(context: RequestContext, name: string): number | undefined {
  const text = context.first(name) ?? '';
  if (text === '') return undefined;
  const size = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(size) ? size : wrong(name, Number.MAX_SAFE_INTEGER);
}

function seqIn(text: string): bigint | undefined {
  const seq = /^\d{1,20}$/.test(text) ? BigInt(text) : -1n;
  return seq >= 0n && seq <= seqMax ? seq : undefined;
}

/** `metadata.uid` with `schema=ocsf`: organization and order number. */
const uidPattern = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-(\d{1,20})$/i;

function readEvent(context: RequestContext, organization: string): EventName {
  const uid = context.first('uid') ?? '';
  if (uid !== '') {
    const [, ofOrganization, digits = ''] = uidPattern.exec(uid) ?? [];
    const seq = seqIn(digits);
    if (ofOrganization === undefined || seq === undefined)
      throw new Problem(
        'malformed',
        'The parameter "uid" must be the metadata.uid of an event: organization id, hyphen, order number.',
      );
    // Another organization's event gets the same answer as a missing one.
    if (ofOrganization.toLowerCase() !== organization) throw uncovered('absent');
    return { seq };
  }
  const digits = context.first('seq') ?? '';
  if (digits !== '') return { seq: seqIn(digits) ?? wrong('seq', seqMax) };
  const position = readSize(context, 'position');
  if (position !== undefined) return { position };
  throw new Problem('malformed', 'Name an event by "uid", "seq" or "position", or a checkpoint by "older".');
}
