import { workerData } from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { Mappings } from '../adapters/mappings.ts';
import { RequestMapper } from './request-mapper.ts';
import { splitLarge } from './split-large.ts';
import type { MapTask, SplitTask, WorkerSettings } from './task.ts';

/**
 * The body of a worker thread: decompress, split, map, encode. It opens no socket and no file; buffers travel
 * with the tasks.
 */
const settings = workerData as WorkerSettings;
const mappings = new Mappings(settings.mappings);
const mapper = new RequestMapper(settings, mappings);

export default async function runTask(task: MapTask | SplitTask): Promise<unknown> {
  if (task.kind === 'split') {
    const result = await splitLarge(task, mappings);
    return move({ [transferableSymbol]: result.input, [valueSymbol]: result });
  }
  const result = mapper.map(task);
  const { input, buffer } = result;
  const buffers = input === undefined ? [buffer] : [buffer, input];
  return move({ [transferableSymbol]: buffers, [valueSymbol]: result });
}
