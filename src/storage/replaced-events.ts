import { limits } from './limits.ts';
import { quoteString } from './quote.ts';
import { mutationSettings } from './removal.ts';
import { renderPlaceholders } from './render-migration.ts';
import type { Storage } from './storage.ts';

/** What takes the place of an event's texts; its time, order number and organization stay. */
export interface ReplacedEvent {
  readonly seq: bigint;
  /** SHA-256 of the source event that it was made of, in hex: of any other one the texts stay. */
  readonly before: string;
  readonly activityName: string;
  readonly actorEmail: string;
  readonly actorId: string;
  readonly names: readonly string[];
  readonly fileHash: readonly string[];
  readonly ocsf: string;
  readonly source: string;
}

const textArray = (texts: readonly string[]): string => `[${texts.map(quoteString).join(',')}]`;

/** Numbers of the order as the engine takes them; their digits can be nothing but that. */
export const seqList = (seqs: readonly bigint[]): string => seqs.map(String).join(',');

/**
 * Puts other texts into events that are stored, by a mutation of the engine: a reader sees each event as it was or as it
 * is to be. The texts stand in the statement, so that all replicas do the same, and so that the engine goes on after a
 * restart; a statement has a bounded number of them. Which event each was made of stands there, too: the engine looks when it
 * rewrites, so nothing that was changed in between is brought back. Where nobody `waits` the engine does it with those that follow, in one
 * pass over a part. Rejects with EngineError; some may be replaced already then.
 */
export async function replaceEvents(
  storage: Storage,
  organization: string,
  events: readonly ReplacedEvent[],
  { waits, signal }: { readonly waits: boolean; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const seqs = seqList(events.map(({ seq }) => seq));
  const place = `indexOf([${seqs}], seq)`;
  const texts = (name: string, of: (event: ReplacedEvent) => string) =>
    `${name} = [${events.map((event) => quoteString(of(event))).join(',')}][${place}]`;
  const lists = (name: string, of: (event: ReplacedEvent) => readonly string[]) =>
    `${name} = CAST([${events.map((event) => textArray(of(event))).join(',')}], 'Array(Array(String))')[${place}]`;
  const columns = [
    texts('activity_name', (event) => event.activityName),
    texts('actor_email', (event) => event.actorEmail),
    texts('actor_id', (event) => event.actorId),
    lists('names', (event) => event.names),
    lists('file_hash', (event) => event.fileHash),
    texts('ocsf', (event) => event.ocsf),
    texts('source', (event) => event.source),
  ];
  const befores = `[${events.map(({ before }) => quoteString(before)).join(',')}]`;
  // Source events of others in the part are not hashed.
  const isAsPlanned = `if(seq IN (${seqs}), lower(hex(SHA256(source))) = ${befores}[${place}], false)`;
  const { database, cluster } = storage;
  const statement = renderPlaceholders('ALTER TABLE {{sharded events}} {{on_cluster}} UPDATE ', {
    database,
    cluster,
  });
  await storage.command(
    `${statement}${columns.join(', ')} WHERE org = toUUID(${quoteString(organization)}) AND seq IN (${seqs}) AND ${isAsPlanned}`,
    {},
    {
      settings: {
        ...mutationSettings,
        ...(waits ? {} : { mutations_sync: 0 }),
        max_query_size: limits.replaceQueryBytesMax,
      },
      timeoutMs: limits.removalMsMax,
      ...(signal !== undefined && { signal }),
    },
  );
}
