import { createHash } from 'node:crypto';
import { Problem } from '../base/errors/problem.ts';
import { onShard } from '../storage/cluster.ts';
import { shownColumns } from '../storage/event-hash.ts';
import { RowBinary } from '../storage/row-binary.ts';
import type { Storage } from '../storage/storage.ts';
import type { EventEnvelope } from './envelope.ts';
import { type AuditFilter, whereClause } from './filter.ts';
import { limits } from './limits.ts';
import { countQuery } from './offset-index.ts';
import { newestFirst, streamSettings, throughTexts } from './plans.ts';
import { readWhole } from './read-body.ts';

interface CaseEvent {
  readonly seq: bigint;
  readonly line: Buffer;
  /** SHA-256 of its varying part. */
  readonly rendering: Buffer;
  /** The other columns of the shown event in RowBinary (storage/event-hash.ts). */
  readonly columns: Buffer;
  readonly source: Buffer;
}

/** Rejects with a Problem that names the limit if there are too many, and with EngineError. */
export type CaseEventsReader = (
  organization: string,
  request: { readonly filter: AuditFilter },
  nowMicros: number,
  signal: AbortSignal,
) => Promise<readonly CaseEvent[]>;

export function createCaseEventsReader(storage: Storage, envelope: EventEnvelope): CaseEventsReader {
  return async (organization, { filter }, nowMicros, signal) => {
    const where = whereClause(organization, filter);
    const settings = { ...streamSettings, ...throughTexts(filter) };
    const count = `SELECT toString((${countQuery(filter, where)})) AS total`;
    const [counted] = await storage.readRows<{ total: string }>(onShard(storage, count), where.parameters, {
      settings: throughTexts(filter),
      signal,
    });
    if (Number(counted?.total) > limits.caseEventsMax) throw tooMany(counted?.total);
    const rows =
      `SELECT seq, ocsf, ${shownColumns}, source FROM (SELECT * FROM events WHERE ${where.sql} ${newestFirst} ` +
      'LIMIT {limit:UInt64})';
    const held = await readWhole(
      storage,
      `${onShard(storage, rows)} FORMAT RowBinary`,
      { ...where.parameters, limit: limits.caseEventsMax + 1 },
      { settings, signal, headroom: 0, tailroom: 0, bytesMax: limits.caseBytesMax },
    );
    if (held === undefined) throw tooLarge();
    const bytes = Buffer.from(held.buffer.subarray(held.start, held.end));
    held.release();
    const { head, tail } = envelope;
    const events = eventsIn(bytes, Buffer.from(head), Buffer.from(`"logged_time":${nowMicros}${tail}`));
    if (events.length > limits.caseEventsMax) throw tooMany();
    return events;
  };
}

function eventsIn(bytes: Buffer, head: Buffer, tail: Buffer): CaseEvent[] {
  const rows = new RowBinary(bytes);
  const events: CaseEvent[] = [];
  while (!rows.isAtEnd) {
    const [seq, ocsf, columns, source] = [rows.uint64(), rows.string(), rows.string(), rows.string()];
    const rendering = createHash('sha256').update(ocsf).digest();
    events.push({ seq, line: Buffer.concat([head, ocsf, tail]), rendering, columns, source });
  }
  return events;
}

const numbers = new Intl.NumberFormat('en');

function tooMany(total?: string): Problem {
  const matching = total === undefined ? 'More' : `${numbers.format(Number(total))} events`;
  const most = numbers.format(limits.caseEventsMax);
  return new Problem(
    'malformed',
    `${matching} match, and a case file has at most ${most} events: narrow the filters.`,
  );
}

function tooLarge(): Problem {
  const most = limits.caseBytesMax / 1024 / 1024;
  return new Problem(
    'malformed',
    `The events that match have more than ${most} MiB, which is the most for a case file: narrow the filters.`,
  );
}
