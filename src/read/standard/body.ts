import { buffers } from '../../base/buffer-pool.ts';
import { flowWith, type ByteFlow } from '../../base/byte-flow.ts';
import type { Parameters, QueryOptions, Storage } from '../../storage/storage.ts';
import { limits } from '../limits.ts';
import type { ReadBody } from '../read-body.ts';
import { StandardFlow } from './flow.ts';
import type { MappedEvents, StandardPool } from './pool.ts';
import { taskRows, totalOf } from './rows.ts';

const between = ',\n';
const inList = { between, behind: '' };

/** What stands behind the events of an answer: by the total that each row has, or where there is no row. */
export interface Tail {
  of(total: number): string;
  ofNone(): string | Promise<string>;
}

/** The pool, and where the rows come from. */
export interface StandardReads {
  readonly storage: Storage;
  readonly pool: StandardPool;
}

/**
 * Reads rows and answers their events: `before`, events, `tail`. Held
 * until all is mapped, so that a failure is still answered; very much is streamed. Rejects with EngineError.
 */
export async function readStandard(
  { storage, pool }: StandardReads,
  organization: string,
  [query, parameters, options]: readonly [string, Parameters, QueryOptions],
  before: string,
  tail: Tail,
): Promise<ReadBody> {
  const holding = { ...options, headroom: 0, tailroom: 0, bytesMax: limits.standardPageBytesMax };
  const rows = await storage.bytes(query, parameters, holding);
  if (!('release' in rows)) return { flow: streamed(rows, pool, organization, before, tail) };
  let mapped: MappedEvents[] = [];
  try {
    const bytes = rows.buffer.subarray(rows.start, rows.end);
    if (bytes.length === 0) return joined(before, [], await tail.ofNone());
    const after = tail.of(totalOf(bytes, 0));
    mapped = await mapAll(pool, organization, bytes);
    return joined(before, mapped, after);
  } finally {
    rows.release();
    for (const one of mapped) one.release();
  }
}

/** A few tasks at once: a page of large events takes no more of the threads than a stream does. */
async function mapAll(pool: StandardPool, organization: string, bytes: Uint8Array): Promise<MappedEvents[]> {
  const tasks: Promise<MappedEvents>[] = [];
  try {
    for (const rows of taskRows(bytes)) {
      const waiting = tasks[tasks.length - limits.standardTasksAtOnce];
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

function joined(before: string, mapped: readonly MappedEvents[], after: string): ReadBody {
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

/** The first piece of such a flow is as long as what is held at most, so it has the first row. */
function streamed(
  rows: ByteFlow,
  pool: StandardPool,
  organization: string,
  before: string,
  tail: Tail,
): ByteFlow {
  let after: string | undefined;
  const noted = flowWith(rows, (sink) =>
    rows.to({
      data(piece) {
        after ??= tail.of(totalOf(piece, 0));
        return sink.data(piece);
      },
      end: () => sink.end(),
      failed: (error) => sink.failed(error),
    }),
  );
  const events = new StandardFlow(noted, pool, organization, { ...inList, before, after: '' });
  return flowWith(events, (sink) =>
    events.to({
      data: (piece) => sink.data(piece),
      end() {
        sink.data(Buffer.from(after ?? ''));
        sink.end();
      },
      failed: (error) => sink.failed(error),
    }),
  );
}
