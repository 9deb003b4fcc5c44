import type { ControlStore } from '../control/deletion.ts';
import { erasuresUnderWay, type StoredErasure, textsToBe } from '../control/erasure.ts';
import { Mapper, type MappedEvent } from '../ocsf/audit-event.ts';
import type { Piece } from '../ocsf/byte-sink.ts';
import { byteWindow } from '../ocsf/byte-text.ts';
import { type Person, Pseudonymizer } from '../ocsf/pseudonymize.ts';
import { eventsInOrder, onReplicas } from '../storage/replica-reads.ts';
import { eventHashNow } from '../storage/event-hash.ts';
import { type ReplacedEvent, seqList } from '../storage/replaced-events.ts';
import type { Storage } from '../storage/storage.ts';
import { limits } from './limits.ts';

/** Application names in events; each has a mapper. */
const eraseAppNamesMax = 32;
/** Events per scan. */
const eraseCandidatesAtOnce = 200_000;
const eraseScanMsMax = 3_600_000;

export interface EraseScope {
  readonly organization: string;
  /** Exclusive. */
  readonly below: bigint;
  /** Oldest first; their results are read. */
  readonly underWay: readonly StoredErasure[];
}

interface PersonEvent {
  readonly seq: bigint;
  /** Hash of the event with the person, in hex. */
  readonly before: string;
  readonly source: string;
  readonly ocsf: string;
}

interface Candidate {
  readonly seq: bigint;
  readonly bytes: number;
}

const scan = { settings: { max_threads: 2 }, timeoutMs: eraseScanMsMax } as const;

/** All current events. Rejects with EngineError. */
export async function readScope(
  { storage, directory }: ControlStore,
  organization: string,
): Promise<EraseScope> {
  const underWay = erasuresUnderWay(directory, organization);
  const each = 'SELECT max(seq) AS newest FROM events WHERE org = {org:UUID}';
  const [row] = await storage.rows<{ last: string }>(
    `SELECT toString(max(newest)) AS last FROM (${await onReplicas(storage, each, 'organization')})`,
    { org: organization },
  );
  return { organization, below: BigInt(row?.last ?? 0) + 1n, underWay };
}

/** In the order of ingest. Rejects with EngineError. */
export async function* readPersonEvents(
  storage: Storage,
  scope: EraseScope,
  person: Person,
): AsyncGenerator<PersonEvent, void, undefined> {
  const pseudonymizer = new Pseudonymizer(person);
  for (let after = 0n; ; ) {
    const candidates = await findCandidates(storage, scope, person, after);
    for (const batch of splitBatches(candidates)) {
      for (const { number, source, ocsf, hash } of await readEvents(storage, scope, batch)) {
        const rewritten = pseudonymizer.rewrite(source);
        if (rewritten !== undefined) yield { seq: BigInt(number), before: hash, source: rewritten, ocsf };
      }
    }
    const last = candidates.at(-1);
    if (last === undefined || candidates.length < eraseCandidatesAtOnce) return;
    after = last.seq;
  }
}

/** Events with one of the terms, or with an escape that may be part of one. */
async function findCandidates(
  storage: Storage,
  { organization, below }: EraseScope,
  { emails, names, ids, ips }: Person,
  after: bigint,
): Promise<Candidate[]> {
  const terms = [...emails, ...names, ...ids, ...ips].map((term) => JSON.stringify(term).slice(1, -1));
  // oxlint-disable-next-line no-control-regex -- the range of ASCII
  const isAscii = terms.every((term) => /^[\u0000-\u007f]*$/.test(term));
  const query = await eventsInOrder(storage, {
    columns: 'toString(seq) AS number, toString(length(source) + length(ocsf)) AS bytes',
    where: `org = {org:UUID} AND seq > {after:UInt64} AND seq < {below:UInt64}
      AND (multiSearchAnyCaseInsensitiveUTF8(source, {terms:Array(String)}) OR match(source, {escape:String}))`,
    limit: '{limit:UInt32}',
  });
  const rows = await storage.readRows<{ number: string; bytes: string }>(
    query,
    {
      org: organization,
      after,
      below,
      terms,
      escape: isAscii ? String.raw`\\u00[2-7]|\\/` : String.raw`\\u|\\/`,
      limit: eraseCandidatesAtOnce,
    },
    scan,
  );
  return rows.map(({ number, bytes }) => ({ seq: BigInt(number), bytes: Number(bytes) }));
}

function* splitBatches(candidates: readonly Candidate[]): Generator<bigint[]> {
  let batch: bigint[] = [];
  let held = 0;
  for (const { seq, bytes } of candidates) {
    const isFull = batch.length >= limits.eraseEventsAtOnce || held + bytes > limits.eraseBytesAtOnce;
    if (isFull && batch.length > 0) {
      yield batch;
      [batch, held] = [[], 0];
    }
    batch.push(seq);
    held += bytes;
  }
  if (batch.length > 0) yield batch;
}

async function readEvents(storage: Storage, { organization, underWay }: EraseScope, seqs: readonly bigint[]) {
  const toBe = await textsToBe(storage, underWay, seqs);
  const query = await eventsInOrder(storage, {
    columns: `toString(seq) AS number, source, ocsf, lower(hex(${eventHashNow})) AS hash`,
    where: `org = {org:UUID} AND seq IN (${seqList(seqs)})`,
  });
  const rows = await storage.readRows<Record<'number' | 'source' | 'ocsf' | 'hash', string>>(
    query,
    { org: organization },
    scan,
  );
  return rows.map((row) => ({ ...row, ...toBe.get(row.number) }));
}

/** Makes rows of rewritten source events under the application's name of their time. */
export class Planner {
  readonly #organization: string;
  readonly #appName: string;
  readonly #mappers = new Map<string, Mapper>();

  constructor(organization: string, appName: string) {
    this.#organization = organization;
    this.#appName = appName;
  }

  /** Throws an Error if the event can no longer be rendered. */
  plan({ seq, before, source, ocsf }: PersonEvent): ReplacedEvent {
    const window = byteWindow(Buffer.from(source));
    const mapped = this.#mapperOf(appNameIn(ocsf) ?? this.#appName).mapStored(
      window,
      0,
      window.bytes.length,
      { id: this.#organization, retentionDays: undefined },
    );
    if (typeof mapped === 'string') throw new Error(`the event with order number ${seq}${mapped}`);
    return { seq, before, ...textsOf(mapped), source };
  }

  #mapperOf(appName: string): Mapper {
    const found = this.#mappers.get(appName);
    if (found !== undefined) return found;
    if (this.#mappers.size >= eraseAppNamesMax) this.#mappers.clear();
    // Redacted already, by the rules of its time.
    const mapper = new Mapper({ appName });
    this.#mappers.set(appName, mapper);
    return mapper;
  }
}

const textOf = ({ bytes, start, end }: Piece): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString();

function textsOf(mapped: MappedEvent) {
  return {
    activityName: textOf(mapped.activityName),
    actorEmail: textOf(mapped.actorEmail),
    actorId: textOf(mapped.actorId),
    names: mapped.names.map(textOf),
    fileHash: mapped.fileHashes.map(textOf),
    fileName: textOf(mapped.fileName),
    targetName: textOf(mapped.targetName),
    ocsf: textOf(mapped.ocsf),
  };
}

/** In a producer's string the quotation marks have backslashes. */
const appNamePattern = /"actor":\{"app_name":("(?:[^"\\]|\\.)*")/;

function appNameIn(ocsf: string): string | undefined {
  const [, text] = appNamePattern.exec(ocsf) ?? [];
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as string;
  } catch (error) {
    // Not written by the service.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
