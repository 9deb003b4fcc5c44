import { buffers } from '../base/buffer-pool.ts';
import { limits } from './limits.ts';
import type { MappedFrame } from './request.ts';
import type { MapResult, MapTask, Outcome, RequestKind, SharedDirectory } from './task.ts';

/** How tasks are made for workers, and what they send back is read. */

/** All organizations, for keys that belong to none; the same object until something changes. */
export type Directory = () => SharedDirectory;

/** A task of several requests whose bodies stand one after the other in `input`. */
export function mapTask(
  directory: Directory,
  input: Uint8Array,
  requests: Pick<MapTask, 'ends' | 'kindOf' | 'kinds'>,
  rejectedMax: number = limits.rejectedEventsMax,
): MapTask {
  const needsDirectory = requests.kinds.some(({ organization }) => organization === undefined);
  return {
    kind: 'map',
    input,
    ...requests,
    // Two renderings and the columns take about twice what came in; more makes the worker's copy of it grow.
    output: buffers.take(input.length * 2.5),
    directory: needsDirectory ? directory() : undefined,
    rejectedMax,
  };
}

/** A request, or a piece of one, that is a task of its own. */
export function loneTask(
  directory: Directory,
  input: Uint8Array,
  kind: RequestKind,
  rejectedMax?: number,
): MapTask {
  const requests = { ends: Uint32Array.of(input.length), kindOf: Uint32Array.of(0), kinds: [kind] };
  return mapTask(directory, input, requests, rejectedMax);
}

/** A block of a result as the log takes it. */
export function frameOf({ buffer }: MapResult, block: MapResult['blocks'][number]): MappedFrame {
  const { offset, length, rows, crc } = block;
  return { rows, payload: new Uint8Array(buffer, offset, length), payloadCrc: crc };
}

/** What became of a request of a task. */
export function outcomeOf(result: MapResult, index: number): Outcome {
  const answer = { accepted: result.accepted[index] ?? 0, rejected: 0, errors: [] };
  return (
    result.outcomes.get(index) ?? {
      kind: 'answered',
      answer,
      bodyHash: undefined,
      rejections: [],
      hasTooManyRejected: false,
    }
  );
}
