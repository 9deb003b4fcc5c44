import { systemClock } from '../../base/time/clock.ts';
import { Problem } from '../../base/errors/problem.ts';
import { parseRfc3339Micros } from '../../base/time/timestamp.ts';
import { AuditlogError, type Client, createClient, type RetryFacts } from '../../client/client.ts';
import { limits as clientLimits } from '../../client/limits.ts';
import { retryPolicy, withRetries } from '../../client/retry.ts';
import type { CliIo } from '../context.ts';
import type { Batch, ForwardedEvent, Position } from './batch.ts';
import { ForwardCheckpoint } from './checkpoint.ts';
import { feedSource, type SourceOptions } from './feed-source.ts';
import { FileSink } from './file-sink.ts';
import { HttpSink } from './http-sink.ts';
import { readFilters, wrong } from '../option.ts';
import { checkCombination, type ForwardOptions, type ForwardSecrets, parseLabels } from './options.ts';
import { PageSource } from './page-source.ts';
import { ForwardProgress } from './progress.ts';
import { defaultS3Region } from '../s3.ts';
import { S3Sink } from './s3-sink.ts';
import { type Delivery, type FileState, type Sink, streamSink } from './sink.ts';
import { SyslogSink } from './syslog-sink.ts';

const forwardRetryDelayMsMax = 30_000;
const forwardStopMsMax = 10_000;
const forwardOnceMsMax = 120_000;
/** Interval for saving a position that moves without events. */
const forwardIdleSaveMs = 60_000;

export type ForwardPlan = ForwardOptions & ForwardSecrets;

export interface ForwardDeps {
  readonly io: CliIo;
  readonly stop: AbortSignal;
}

const defaultIntervalMs = 5 * 60_000;

/**
 * Forwards until the source ends (`once`) or a stop signal. Transient failures are retried, without limit
 * unless `once`.
 */
export async function forward(plan: ForwardPlan, { io, stop }: ForwardDeps): Promise<void> {
  const warn = (text: string): void => io.error(`auditlog forward: ${text}\n`);
  const giveUpAfterMs = plan.once === true ? forwardOnceMsMax : Number.POSITIVE_INFINITY;
  const progress = new ForwardProgress(warn, systemClock, giveUpAfterMs);
  const ended = new AbortController();
  const reading = AbortSignal.any([stop, ended.signal]);
  // Gives the delivery in progress some time.
  const cut = new AbortController();
  const cutLater = (): void => void setTimeout(() => cut.abort(), forwardStopMsMax).unref();
  stop.addEventListener('abort', cutLater, { once: true });
  checkCombination(plan);
  const filter = readFilters(plan);
  const checkpoint = await ForwardCheckpoint.open(plan.checkpoint, {
    url: plan.url,
    filter,
    schema: plan.schema,
  });
  if (plan.checkpoint === undefined && plan.once !== true)
    warn('without --checkpoint the next run starts at the beginning');
  const sink = await openSink(plan, io, checkpoint.stored.file, warn);
  const timer = setInterval(() => progress.line(), Math.min(plan.metricsInterval, clientLimits.timerMsMax));
  try {
    const client = createClient({
      url: plan.url,
      apiKey: plan.apiKey,
      timeoutMs: plan.timeout,
      fetch: plan.fetch,
      readRetry: { giveUpAfterMs },
      onRetry: (facts) => progress.retry('source', facts),
    });
    const source = await openSource(plan, client, checkpoint, reading, warn);
    const onRetry = (facts: RetryFacts): void => progress.retry('destination', facts);
    const policy = retryPolicy({ delayMsMax: forwardRetryDelayMsMax }, giveUpAfterMs);
    const retried = async <T>(work: () => Promise<T>): Promise<T> => {
      const made = await withRetries(policy, { signal: reading, onRetry }, work);
      progress.succeeded('destination');
      return made;
    };
    await deliverAll(source, { sink, checkpoint, progress, cut: cut.signal, retried });
  } catch (error) {
    if (!(stop.aborted && isAborted(error))) throw explained(error);
  } finally {
    clearInterval(timer);
    stop.removeEventListener('abort', cutLater);
    // Cancels the page that is being prefetched.
    ended.abort();
    progress.line();
    await sink.close?.();
  }
}

const isAborted = (error: unknown): boolean => error instanceof AuditlogError && error.code === 'aborted';

function explained(error: unknown): unknown {
  if (error instanceof AuditlogError && error.status === 400 && /cursor/i.test(error.detail ?? ''))
    return new Error(
      `${error.message} The server no longer knows the checkpoint; start a new one with --start-time.`,
    );
  return error;
}

async function openSink(
  { to, ...plan }: ForwardPlan,
  io: CliIo,
  known: FileState | undefined,
  warn: (text: string) => void,
): Promise<Sink> {
  const { format, rotateBytes, rotateKeep, headers, gzip = false, timeout: timeoutMs, rejectedTo } = plan;
  switch (to.kind) {
    case 'stream':
      return streamSink(io, format);
    case 'file':
      return FileSink.open({ path: to.path, format, rotateBytes, rotateKeep, warn }, known);
    case 'http':
      return HttpSink.open({
        url: to.url,
        format,
        labels: parseLabels({ to, ...plan }),
        headers,
        gzip,
        timeoutMs,
        rejectedTo,
      });
    case 'syslog':
      return new SyslogSink({ ...to, ca: plan.sinkCa, hostname: new URL(plan.url).hostname, timeoutMs });
    case 's3': {
      const { s3Credentials: credentials, s3Endpoint: endpoint, s3Region: region = defaultS3Region } = plan;
      if (credentials === undefined) throw new Error('an S3 destination without credentials');
      return new S3Sink({ ...to, endpoint, region, credentials, format, gzip, timeoutMs });
    }
    default:
      return to satisfies never;
  }
}

async function openSource(
  plan: ForwardPlan,
  client: Client,
  { stored: { position, stream } }: ForwardCheckpoint,
  signal: AbortSignal,
  warn: (text: string) => void,
): Promise<AsyncGenerator<Batch>> {
  const mode = await chooseMode(plan, client, position, signal);
  const { startTime, ...matching } = readFilters(plan);
  // A page of a search ends with its time budget, so pages would omit events.
  const searching = ['q', 'q.phrase', 'q.not'].find((name) => matching[name] !== undefined);
  if (mode === 'pages' && searching !== undefined)
    throw wrong(`--${searching.replace('.', '-')}`, 'only with the feed of a server');
  const { batch: batchEvents, interval: intervalMs, once = false, schema } = plan;
  const options: SourceOptions = {
    client,
    filter: matching,
    schema,
    batchEvents,
    intervalMs,
    once,
    stream,
    signal,
  };
  if (mode === 'feed') {
    const from = position?.mode === 'feed' ? position.cursor : '';
    return feedSource({ ...options, filter: { ...matching, startTime } }, from);
  }
  const from = startTime === undefined ? 0 : (parseRfc3339Micros(startTime) ?? 0);
  const start = { mode: 'pages', through: undefined, knownFrom: Math.max(0, from), known: [] } as const;
  const pages = {
    ...options,
    intervalMs: intervalMs ?? defaultIntervalMs,
    overlapMicros: plan.overlap * 1000,
    now: systemClock,
    warn,
  };
  return new PageSource(pages, position?.mode === 'pages' ? position : start).batches();
}

/** The feed if the server has one; a checkpoint continues in its mode. */
async function chooseMode(
  { mode }: ForwardPlan,
  client: Client,
  known: Position | undefined,
  signal: AbortSignal,
): Promise<'feed' | 'pages'> {
  if (known !== undefined) {
    if (mode !== 'auto' && mode !== known.mode)
      throw new Problem('malformed', `--mode: the checkpoint was reached in mode ${known.mode}`);
    return known.mode;
  }
  if (mode !== 'auto') return mode;
  try {
    await client.feedPage({ limit: 1, wait: 0 }, { signal });
    return 'feed';
  } catch (error) {
    if (error instanceof AuditlogError && error.status === 404) return 'pages';
    throw error;
  }
}

interface DeliveryDeps {
  readonly sink: Sink;
  readonly checkpoint: ForwardCheckpoint;
  readonly progress: ForwardProgress;
  readonly cut: AbortSignal;
  /** Retries work that the destination or the disk may accept later. */
  retried<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * At-least-once: a position is saved after everything before it is delivered, so a crash in between repeats
 * one batch.
 */
async function deliverAll(source: AsyncIterable<Batch>, deps: DeliveryDeps): Promise<void> {
  const { sink, checkpoint, progress, cut, retried } = deps;
  let { position } = checkpoint.stored;
  let saved = { position, at: 0 };
  const save = async (): Promise<void> => {
    await checkpoint.save({ position, file: sink.state?.() });
    saved = { position, at: performance.now() };
  };
  const saveState = (): Promise<void> => retried(save);
  await saveState();
  try {
    for await (const { events, position: reached, settledThrough } of source) {
      progress.succeeded('source');
      if (events.length > 0) {
        const rejected = await deliverBatch(events, deps, { cut, saveState });
        progress.delivered(events.length, rejected);
      }
      position = reached();
      progress.settledThrough = settledThrough;
      if (events.length > 0 || performance.now() - saved.at > forwardIdleSaveMs) await saveState();
    }
  } catch (error) {
    if (!isAborted(error)) throw error;
  }
  if (saved.position !== position) await save();
}

async function deliverBatch(
  events: readonly ForwardedEvent[],
  { sink, retried }: DeliveryDeps,
  delivery: Delivery,
): Promise<number> {
  let left = events;
  let refused = 0;
  await retried(async () => {
    const { rejected, later } = await sink.deliver(left, delivery);
    refused += rejected;
    if (later === undefined) return;
    left = later.events;
    throw later.error;
  });
  return refused;
}
