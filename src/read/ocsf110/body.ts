import { buffers } from '../../base/bytes/buffer-pool.ts';
import type { HeldBytes, Parameters, QueryOptions, Storage } from '../../storage/storage.ts';
import { between } from '../envelope.ts';
import { limits } from '../limits.ts';
import { checkRows } from '../page-slices.ts';
import { readWhole } from '../read-body.ts';
import type { SliceBytes } from '../sliced-flow.ts';
import type { MappedEvents, Ocsf110Pool } from './pool.ts';
import { countRows, taskRows, readTotal } from './rows.ts';

const ocsf110PageBytesMax = 8 * 1024 * 1024;

export interface Tail {
  of(total: number): string;
  ofNone(): string | Promise<string>;
}

export interface Ocsf110Reads {
  readonly storage: Storage;
  readonly pool: Ocsf110Pool;
}

/** Buffers the whole answer, so that a failure can still be answered; undefined if too large. Rejects with EngineError. */
export async function readOcsf110(
  { storage, pool }: Ocsf110Reads,
  organization: string,
  [query, parameters, options]: readonly [string, Parameters, QueryOptions],
  before: string,
  tail: Tail,
): Promise<SliceBytes | undefined> {
  const holding = { ...options, headroom: 0, tailroom: 0, bytesMax: ocsf110PageBytesMax };
  const rows = await readWhole(storage, query, parameters, holding);
  if (rows === undefined) return undefined;
  try {
    const bytes = rows.buffer.subarray(rows.start, rows.end);
    if (bytes.length === 0) return joined(before, [], await tail.ofNone());
    const after = tail.of(readTotal(bytes));
    return await mapped(pool, organization, bytes, before, after);
  } finally {
    rows.release();
  }
}

export async function ocsf110Slice(
  pool: Ocsf110Pool,
  organization: string,
  rows: HeldBytes,
  wanted: number,
): Promise<SliceBytes> {
  const bytes = rows.buffer.subarray(rows.start, rows.end);
  checkRows(rows, countRows(bytes), wanted);
  try {
    return await mapped(pool, organization, bytes, '', '');
  } finally {
    rows.release();
  }
}

async function mapped(
  pool: Ocsf110Pool,
  organization: string,
  bytes: Uint8Array,
  before: string,
  after: string,
): Promise<SliceBytes> {
  const events = await mapAll(pool, organization, bytes);
  try {
    return joined(before, events, after);
  } finally {
    for (const one of events) one.release();
  }
}

/** Few concurrent tasks, so that a page of large events uses no more of the threads than a stream does. */
async function mapAll(pool: Ocsf110Pool, organization: string, bytes: Uint8Array): Promise<MappedEvents[]> {
  const tasks: Promise<MappedEvents>[] = [];
  try {
    for (const rows of taskRows(bytes)) {
      const waiting = tasks[tasks.length - limits.ocsf110TasksAtOnce];
      if (waiting !== undefined) await waiting;
      const copy = new Uint8Array(buffers.take(rows.length).handOver(), 0, rows.length);
      copy.set(rows);
      const isFirst = tasks.length === 0;
      tasks.push(pool.map(organization, copy, { before: isFirst ? '' : between, between, after: '' }));
    }
    return await Promise.all(tasks);
  } catch (error) {
    for (const settled of await Promise.allSettled(tasks))
      if (settled.status === 'fulfilled') settled.value.release();
    throw error;
  }
}

function joined(before: string, mapped: readonly MappedEvents[], after: string): SliceBytes {
  const length = mapped.reduce((sum, { bytes }) => sum + bytes.length, before.length + after.length);
  const lease = buffers.take(length);
  const body = Buffer.from(lease.memory, 0, length);
  let end = body.write(before, 'latin1');
  for (const { bytes } of mapped) {
    body.set(bytes, end);
    end += bytes.length;
  }
  body.write(after, end, 'latin1');
  return { bytes: body, release: () => lease.release() };
}
