import { availableParallelism } from 'node:os';
import type { ByteFlow } from '../base/bytes/byte-flow.ts';
import { FairQueue, type FairQueueOptions } from '../base/waiting/fair-queue.ts';
import { limits } from './limits.ts';
import { gauge } from '../base/observability/metrics.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import type { Turn } from './page-slices.ts';

const exportsMax = 24;
const exportRetryAfterSeconds = 10;
/** A case file holds a few times the bytes of its events. */
const casesMax = 2;
const sourceStreamsPerOrganizationMax = 8;
/** Concurrent reads in the engine without streams: per core, and at least this many. */
const readsAtOncePerCore = 4;
const readsAtOnceMin = 8;
const readsWaitingPerOrganizationMax = 256;
const readsWaitingMax = 4_096;
const readWaitMsMax = 10_000;
const readRetryAfterSeconds = 2;

const aborted = (): Error => new EngineError('aborted', 'The caller ended the request');

/** A turn ends with the call, or with the stream that `streamOf` finds in its result. */
export function inTurn<A extends readonly unknown[], T>(
  queue: FairQueue,
  read: (organization: string, ...rest: [...A, AbortSignal]) => Promise<T>,
  streamOf: (result: T) => Pick<ByteFlow, 'onClosed'> | undefined = () => undefined,
): (organization: string, ...rest: [...A, AbortSignal]) => Promise<T> {
  return async (organization, ...rest) => {
    const release = await queue.acquire(organization, rest[rest.length - 1] as AbortSignal);
    try {
      const result = await read(organization, ...rest);
      const stream = streamOf(result);
      if (stream === undefined) release();
      else stream.onClosed(release);
      return result;
    } catch (error) {
      release();
      throw error;
    }
  };
}

export function makeTurn(queue: FairQueue): Turn {
  return async (organization, work, signal) => {
    const release = await queue.acquire(organization, signal);
    try {
      return await work(signal);
    } finally {
      release();
    }
  };
}

const waiting = {
  waitingPerOrganization: readsWaitingPerOrganizationMax,
  waiting: readsWaitingMax,
  waitMs: readWaitMsMax,
  retryAfterSeconds: readRetryAfterSeconds,
  aborted,
};

/** For short reads. One organization gets at most half of the slots. */
export function readQueue(): FairQueue {
  const slots = Math.max(readsAtOnceMin, readsAtOncePerCore * availableParallelism());
  const queue = new FairQueue({
    ...waiting,
    slotsPerOrganization: Math.ceil(slots / 2),
    slots,
    refusal: 'Too many reads of the organization are waiting for the database; try again later.',
  });
  gauge('auditlog_reads_running', 'Reads that the engine is working on, without streams.', [], (value) =>
    value.set(queue.size().running),
  );
  gauge('auditlog_reads_waiting', 'Reads that wait for their turn.', [], (value) =>
    value.set(queue.size().waiting),
  );
  return queue;
}

export function sourceStreamSlots(): FairQueue {
  return new FairQueue({
    ...waiting,
    slotsPerOrganization: sourceStreamsPerOrganizationMax,
    slots: limits.sourceStreamsMax,
    refusal: 'Too many streams of the organization are being read; try again later.',
  });
}

export function slotsWithoutWaiting(
  options: Pick<FairQueueOptions, 'slotsPerOrganization' | 'slots' | 'refusal' | 'retryAfterSeconds'>,
): FairQueue {
  return new FairQueue({ ...options, waitingPerOrganization: 0, waiting: 0, waitMs: 0, aborted });
}

export function exportSlots(): FairQueue {
  const most = limits.exportsPerOrganizationMax;
  return slotsWithoutWaiting({
    slotsPerOrganization: most,
    slots: exportsMax,
    refusal: `At most ${most} exports of an organization run at once; try again when one has ended.`,
    retryAfterSeconds: exportRetryAfterSeconds,
  });
}

/** For case files, which are held until they are whole. */
export function caseSlots(): FairQueue {
  return slotsWithoutWaiting({
    slotsPerOrganization: 1,
    slots: casesMax,
    refusal: 'A case file is being made for the organization; try again when it is done.',
    retryAfterSeconds: readRetryAfterSeconds,
  });
}
