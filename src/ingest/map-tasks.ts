import { buffers } from '../base/buffer-pool.ts';
import { limits } from './limits.ts';
import type { FrameInput } from './segment.ts';
import type { MapResult, MapTask, Outcome, RequestKind, SharedDirectory } from './task.ts';

/** How tasks are made for workers, and what they send back is read. */

/** What tasks have in common. */
export interface TaskFacts {
  readonly bodyBytesMax: number;
  /** All organizations, for keys that belong to none; the same object until something changes. */
  directory(): SharedDirectory;
}

/** A task of several requests whose bodies stand one after the other in `input`. */
export function mapTask(
  facts: TaskFacts,
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
    directory: needsDirectory ? facts.directory() : undefined,
    rejectedMax,
  };
}

/** A request, or a piece of one, that is a task of its own. */
export function loneTask(
  facts: TaskFacts,
  input: Uint8Array,
  kind: RequestKind,
  rejectedMax?: number,
): MapTask {
  const requests = { ends: Uint32Array.of(input.length), kindOf: Uint32Array.of(0), kinds: [kind] };
  return mapTask(facts, input, requests, rejectedMax);
}

/** A block of a result as the log takes it. */
export function frameOf(
  result: MapResult,
  { offset, length, rows, crc }: MapResult['blocks'][number],
): Omit<FrameInput, 'notes'> {
  return { rows, payload: new Uint8Array(result.buffer, offset, length), payloadCrc: crc };
}

/** What became of a request of a task. */
export function outcomeOf(result: MapResult, index: number): Outcome {
  const accepted = result.accepted[index] ?? 0;
  const answer = { accepted, rejected: 0, errors: [] };
  return (
    result.outcomes.get(index) ?? {
      kind: 'answered',
      answer,
      bodyHash: undefined,
      rejections: [],
      isEnded: false,
    }
  );
}
