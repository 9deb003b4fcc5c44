import { systemClock } from '../../base/clock.ts';
import { limits } from '../limits.ts';
import { Problem } from '../../base/problem.ts';
import { parseRfc3339Micros } from '../../base/timestamp.ts';
import { AuditlogError, type Client, createClient } from '../../client/client.ts';
import { retryPolicy, withRetries } from '../../client/retry.ts';
import type { CliIo } from '../context.ts';
import type { Batch, Position } from './batch.ts';
import { type Checkpoint, openCheckpoint } from './checkpoint.ts';
import { feedSource, type SourceOptions } from './feed-source.ts';
import { openFileSink } from './file-sink.ts';
import { openHttpSink } from './http-sink.ts';
import type { ForwardPlan } from './options.ts';
import { pageSource } from './page-source.ts';
import { createProgress, type Progress } from './progress.ts';
import type { FileState, Sink } from './sink.ts';
import { streamSink } from './stream-sink.ts';

export interface ForwardDeps {
  readonly io: CliIo;
  /** Aborted when the process is asked to end. */
  readonly stop: AbortSignal;
}

const micro = 1000;
const defaultIntervalMs = 5 * 60_000;

function openSink(plan: ForwardPlan, io: CliIo, known: FileState | undefined, warn: (text: string) => void) {
  const { to, format } = plan;
  switch (to.kind) {
    case 'stream':
      return Promise.resolve(streamSink(io, format));
    case 'file':
      return openFileSink({ ...plan, path: to.path, warn }, known);
    case 'http':
      return openHttpSink({ ...plan, url: to.url });
    default:
      return to satisfies never;
  }
}

/** The feed where the server has one; a position that was reached in one mode is gone on from in the same. */
async function modeOf(plan: ForwardPlan, client: Client, known: Position | undefined, stop: AbortSignal) {
  if (known !== undefined) {
    if (plan.mode !== 'auto' && plan.mode !== known.mode)
      throw new Problem('malformed', `--mode: the checkpoint was reached in mode ${known.mode}`);
    return known.mode;
  }
  if (plan.mode !== 'auto') return plan.mode;
  try {
    await client.feedPage({ limit: 1, wait: 0 }, { signal: stop });
    return 'feed';
  } catch (error) {
    if (error instanceof AuditlogError && error.status === 404) return 'pages';
    throw error;
  }
}

async function openSource(
  plan: ForwardPlan,
  client: Client,
  { position, stream }: Checkpoint,
  signal: AbortSignal,
  warn: (text: string) => void,
): Promise<AsyncGenerator<Batch>> {
  const mode = await modeOf(plan, client, position, signal);
  const { filter, batchEvents, once, intervalMs } = plan;
  const options: SourceOptions = { client, filter, batchEvents, intervalMs, once, stream, signal };
  if (mode === 'feed') return feedSource(options, position?.mode === 'feed' ? position.cursor : '');
  const { startTime, ...matching } = filter;
  const from = startTime === undefined ? 0 : (parseRfc3339Micros(startTime) ?? 0);
  const start = position?.mode === 'pages' ? position : undefined;
  return pageSource(
    {
      ...options,
      // Where to begin; after that each look says its own.
      filter: matching,
      intervalMs: intervalMs ?? defaultIntervalMs,
      overlapMicros: plan.overlapMs * micro,
      now: systemClock,
      warn,
    },
    start ?? { mode: 'pages', through: undefined, knownFrom: Math.max(0, from), known: [] },
  );
}

interface Delivery {
  readonly sink: Sink;
  readonly checkpoint: Checkpoint;
  readonly progress: Progress;
  readonly stop: AbortSignal;
  /** Until when a delivery under way may go on. */
  readonly cut: AbortSignal;
  /** Repeats what the destination or the disk may take later. */
  retried<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * Delivers batch after batch. The order of steps is what makes it at-least-once: a position is saved only after
 * everything before it has been delivered, so a crash between the two repeats one batch and loses none.
 */
async function deliverAll(source: AsyncIterable<Batch>, delivery: Delivery): Promise<void> {
  const { sink, checkpoint, progress, retried } = delivery;
  let { position } = checkpoint;
  let isSaved = true;
  let savedAt = performance.now();

  async function save(): Promise<void> {
    await retried(() => checkpoint.save({ position, file: sink.state() }));
    isSaved = true;
    savedAt = performance.now();
  }

  // From here on the checkpoint names this run of deliveries and the length of the file, whatever happens next.
  await save();
  try {
    for await (const batch of source) {
      const { events } = batch;
      if (events.length > 0) {
        if (await retried(() => sink.prepare(events))) await save();
        const { rejected } = await retried(() => sink.deliver(events, delivery.cut));
        progress.delivered(events.length, rejected);
      }
      position = batch.position();
      isSaved = false;
      progress.settledThrough(batch.settledThrough);
      if (events.length > 0 || performance.now() - savedAt > limits.forwardIdleSaveMs) await save();
    }
  } catch (error) {
    if (!(delivery.stop.aborted && error instanceof AuditlogError && error.code === 'aborted')) throw error;
  }
  if (!isSaved) await checkpoint.save({ position, file: sink.state() });
}

/** What an operator can do about a failure that stays, where the error alone does not say it. */
function explained(error: unknown): unknown {
  if (error instanceof AuditlogError && error.status === 400 && /cursor/i.test(error.detail ?? ''))
    return new Error(
      `${error.message} The server does not know the checkpoint any more: begin a new one with --start-time.`,
    );
  return error;
}

/**
 * Forwards until the source has nothing more (`once`) or the process is asked to end. Rejects when something stays
 * broken; what is transient is repeated, without end unless `once`.
 */
export async function forward(plan: ForwardPlan, { io, stop }: ForwardDeps): Promise<void> {
  const tell = (text: string): void => io.error(`auditlog forward: ${text}\n`);
  const progress = createProgress(tell, systemClock);
  const giveUpAfterMs = plan.once ? limits.forwardOnceMsMax : Number.POSITIVE_INFINITY;
  const client = createClient({
    url: plan.url,
    apiKey: plan.apiKey,
    timeoutMs: plan.timeoutMs,
    readRetry: { giveUpAfterMs },
    onRetry: (facts) => progress.retry('source', facts),
  });
  const cut = new AbortController();
  const cutLater = (): void => {
    setTimeout(() => cut.abort(), limits.forwardStopMsMax).unref();
  };
  stop.addEventListener('abort', cutLater, { once: true });
  const checkpoint = await openCheckpoint(plan.checkpoint, { url: plan.url, filter: plan.filter });
  if (plan.checkpoint === undefined && !plan.once)
    tell('without --checkpoint, the next run begins at the beginning again');
  const sink = await openSink(plan, io, checkpoint.file, tell);
  const timer = setInterval(() => progress.line(), plan.metricsMs);
  const policy = retryPolicy({}, giveUpAfterMs);
  const hooks = {
    signal: stop,
    onRetry: (facts: Parameters<Progress['retry']>[1]) => progress.retry('destination', facts),
  };
  try {
    const source = await openSource(plan, client, checkpoint, stop, tell);
    const retried = <T>(work: () => Promise<T>): Promise<T> => withRetries(policy, hooks, work);
    await deliverAll(source, { sink, checkpoint, progress, stop, cut: cut.signal, retried });
  } catch (error) {
    if (!(stop.aborted && error instanceof AuditlogError && error.code === 'aborted')) throw explained(error);
  } finally {
    clearInterval(timer);
    stop.removeEventListener('abort', cutLater);
    progress.line();
    await sink.close();
  }
}
