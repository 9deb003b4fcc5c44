import { workerData } from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { segmentTimeMs } from '../../base/events/sequence.ts';
import { Ocsf110Mapper } from '../../ocsf/ocsf110/ocsf110-event.ts';
import { findSource, readSeq, readTime, viewOf } from './rows.ts';
import type { Ocsf110Result, Ocsf110Settings, Ocsf110Task } from './task.ts';

const mapper = new Ocsf110Mapper(workerData as Ocsf110Settings);

function mapRows({ organization, rows, around }: Ocsf110Task): Uint8Array {
  const view = viewOf(rows);
  const place = { start: 0, end: 0 };
  mapper.open(rows);
  for (let at = 0; findSource(rows, at, rows.length, place); at = place.end) {
    mapper.put(at === 0 ? around.before : around.between);
    const { seq, segment } = readSeq(view, at);
    const loggedMs = segmentTimeMs(segment);
    mapper.map(place.start, place.end, {
      organization,
      seq: String(seq),
      loggedMs,
      timeMicros: readTime(view, at),
    });
  }
  mapper.put(around.after);
  return mapper.events();
}

/** Piscina calls this; buffers of the result are moved, not copied. */
export default function runTask(task: Ocsf110Task): unknown {
  const mapped = mapRows(task);
  const isRoom = task.output.byteLength >= mapped.length;
  const buffer = isRoom ? task.output : new ArrayBuffer(2 ** Math.ceil(Math.log2(mapped.length)));
  const events = new Uint8Array(buffer, 0, mapped.length);
  events.set(mapped);
  const result: Ocsf110Result = { events, input: task.rows.buffer };
  return move({ [transferableSymbol]: [buffer, result.input], [valueSymbol]: result });
}
