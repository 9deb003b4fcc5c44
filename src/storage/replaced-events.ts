import type { FilterColumn } from '../base/events/event-filters.ts';
import { onReplicas } from './replica-reads.ts';
import { eventHashNow } from './event-hash.ts';
import { limits } from './limits.ts';
import { quoteString } from './quote.ts';
import { mutationSettings } from './removal.ts';
import { renderPlaceholders } from './migration-files.ts';
import type { Storage } from './storage.ts';

/** A statement that replaces texts: `erasureBytesOfStep`, or the largest event, with escapes. */
const replaceQueryBytesMax = 64 * 1024 * 1024;

/** New texts of an event; time, order number and organization stay. */
export interface ReplacedEvent {
  readonly seq: bigint;
  /** Hash of the event that it replaces (event-hash.ts), in hex; a changed event is not replaced. */
  readonly before: string;
  readonly activityName: string;
  readonly actorEmail: string;
  readonly actorId: string;
  readonly names: readonly string[];
  readonly fileHash: readonly string[];
  readonly fileName: string;
  readonly targetName: string;
  readonly ocsf: string;
  readonly source: string;
}

/**
 * Filter columns without personal data, or derived from `ocsf`. Add each new filter's column here or below.
 */
type KeptColumn = 'flow_id' | 'activity_id' | 'severity' | 'status' | 'src_ip';
type ReplacedColumn =
  | Exclude<FilterColumn, KeptColumn>
  | 'activity_name'
  | 'file_name'
  | 'target_name'
  | 'ocsf'
  | 'source';

const textArray = (texts: readonly string[]): string => `[${texts.map(quoteString).join(',')}]`;

export const seqList = (seqs: readonly bigint[]): string => seqs.map(String).join(',');

function replacements(events: readonly ReplacedEvent[]): (readonly [column: string, value: string])[] {
  const place = `indexOf([${seqList(events.map(({ seq }) => seq))}], seq)`;
  const texts = (of: (event: ReplacedEvent) => string) =>
    `[${events.map((event) => quoteString(of(event))).join(',')}][${place}]`;
  const lists = (of: (event: ReplacedEvent) => readonly string[]) =>
    `CAST([${events.map((event) => textArray(of(event))).join(',')}], 'Array(Array(String))')[${place}]`;
  const replaced: Readonly<Record<ReplacedColumn, string>> = {
    activity_name: texts((event) => event.activityName),
    actor_email: texts((event) => event.actorEmail),
    actor_id: texts((event) => event.actorId),
    names: lists((event) => event.names),
    file_hash: lists((event) => event.fileHash),
    file_name: texts((event) => event.fileName),
    target_name: texts((event) => event.targetName),
    ocsf: texts((event) => event.ocsf),
    source: texts((event) => event.source),
  };
  return Object.entries(replaced);
}

/**
 * The hashes after replacement, in hex, by order number; none for events that are not stored. Rejects with
 * EngineError.
 */
export async function hashesAfter(
  storage: Storage,
  organization: string,
  events: readonly ReplacedEvent[],
): Promise<ReadonlyMap<string, string>> {
  if (events.length === 0) return new Map();
  const replaced = replacements(events);
  const names = replaced.map(([column]) => column).join(', ');
  const values = replaced.map(([column, value]) => `${value} AS ${column}`).join(', ');
  const query = `SELECT place, lower(hex(${eventHashNow})) AS hash FROM
    (SELECT toString(seq) AS place, * EXCEPT (${names}), ${values} FROM events
     WHERE org = {org:UUID} AND seq IN (${seqList(events.map(({ seq }) => seq))}))`;
  const rows = await storage.readRows<{ place: string; hash: string }>(
    await onReplicas(storage, query, 'organization'),
    { org: organization },
    { settings: { max_query_size: replaceQueryBytesMax } },
  );
  return new Map(rows.map(({ place, hash }) => [place, hash]));
}

/**
 * By a mutation: readers see an event either as it was or as it will be. Texts, and the hashes of the old events, are in the
 * statement, so that all replicas agree and the engine resumes after a restart. Without `waits` the engine merges it with later
 * ones. Rejects with EngineError; some may be replaced then.
 */
export async function replaceEvents(
  storage: Storage,
  organization: string,
  events: readonly ReplacedEvent[],
  { waits, signal }: { readonly waits: boolean; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const seqs = seqList(events.map(({ seq }) => seq));
  const place = `indexOf([${seqs}], seq)`;
  const columns = replacements(events).map(([column, value]) => `${column} = ${value}`);
  const befores = `[${events.map(({ before }) => quoteString(before)).join(',')}]`;
  // Other events of the part are not hashed.
  const isAsPlanned = `if(seq IN (${seqs}), lower(hex(${eventHashNow})) = ${befores}[${place}], false)`;
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
        max_query_size: replaceQueryBytesMax,
      },
      timeoutMs: limits.removalMsMax,
      ...(signal !== undefined && { signal }),
    },
  );
}
