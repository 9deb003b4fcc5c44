import { setTimeout as sleep } from 'node:timers/promises';
import { segmentTimeMs } from '../base/events/sequence.ts';
import { Problem } from '../base/errors/problem.ts';
import { limits } from './limits.ts';
import type { Storage } from './storage.ts';
import { runLeases } from './writer-runs.ts';
import { writerLeases } from './writers.ts';

/** A server on the engine, now or earlier. Times in Unix milliseconds. */
export interface Writer {
  readonly number: number;
  readonly instance: string;
  /** Undefined for one of a release that did not tell. */
  readonly host: string | undefined;
  readonly pid: number | undefined;
  readonly seenMs: number;
  /** How long ago that was, by the engine's clock. */
  readonly unseenMs: number;
  readonly state: 'running' | 'away' | 'stopped' | 'fenced';
  /** Everything of it before this moment of the order is stored; undefined where nothing of it is waited for. */
  readonly watermarkMs: number | undefined;
  /** The same as a segment's number. */
  readonly low: number;
  /** How far behind the clock the feed is because of it; 0 where it does not hold the feed back. */
  readonly heldMs: number;
  readonly fencedMs: number | undefined;
  readonly operator: string | undefined;
}

interface Row {
  readonly number: number;
  readonly instance: string;
  readonly host: string;
  readonly pid: number;
  readonly seen: string;
  readonly unseen: string;
  readonly low: string;
  readonly waits: boolean;
  readonly now: string;
  readonly fenced: string;
  readonly operator: string;
}

/** For the condition of a query: nobody waits for what these have not stored. */
export const notFenced = 'writer NOT IN (SELECT instance FROM fenced_writers)';

/** Every server that has a number or had one in the last 30 days, by number. Rejects with EngineError. */
export async function listWriters(storage: Storage): Promise<Writer[]> {
  const rows = await storage.rows<Row>(
    `SELECT w.number AS number, w.instance AS instance, r.host AS host, r.pid AS pid,
       toString(toUnixTimestamp64Milli(greatest(w.renewed, r.last))) AS seen,
       toString(toUnixTimestamp64Milli(now64(3)) - toUnixTimestamp64Milli(greatest(w.renewed, r.last))) AS unseen,
       toString(m.lowest) AS low, m.open AS waits, toString(toUnixTimestamp64Milli(now64(3))) AS now,
       if(toUnixTimestamp64Milli(t.at) = 0, '', toString(toUnixTimestamp64Milli(t.at))) AS fenced, t.who AS operator
     FROM (SELECT toUInt8(substring(argMax(name, seen), ${writerLeases.length + 1})) AS number, owner AS instance,
         max(seen) AS renewed
       FROM leases WHERE held AND startsWith(name, '${writerLeases}') GROUP BY owner) AS w
     LEFT JOIN (SELECT toUUID(substring(name, ${runLeases.length + 1})) AS instance, argMax(host, seen) AS host,
         argMax(pid, seen) AS pid, max(seen) AS last
       FROM leases FINAL WHERE held AND startsWith(name, '${runLeases}') GROUP BY name) AS r ON r.instance = w.instance
     LEFT JOIN (SELECT writer, argMax(low, version) AS lowest, argMax(is_open, version) AS open
       FROM watermarks GROUP BY writer) AS m ON m.writer = w.instance
     LEFT JOIN (SELECT instance, max(fenced) AS at, argMax(operator, fenced) AS who
       FROM fenced_writers GROUP BY instance) AS t ON t.instance = w.instance
     ORDER BY number, seen`,
  );
  return rows.map(writerOf);
}

function writerOf(row: Row): Writer {
  const unseenMs = Number(row.unseen);
  const isFenced = row.fenced !== '';
  const isWaitedFor = row.waits && !isFenced;
  const low = Number(row.low);
  const heldMs = isWaitedFor ? Number(row.now) - segmentTimeMs(low) : 0;
  const isSeen = unseenMs < limits.writerRunStaleMs;
  const waited = isSeen ? 'running' : 'away';
  return {
    number: row.number,
    instance: row.instance,
    host: row.host === '' ? undefined : row.host,
    pid: row.pid === 0 ? undefined : row.pid,
    seenMs: Number(row.seen),
    unseenMs,
    state: isFenced ? 'fenced' : isWaitedFor ? waited : 'stopped',
    watermarkMs: isWaitedFor ? segmentTimeMs(low) : undefined,
    low,
    heldMs: heldMs > limits.feedHeldMsMin ? heldMs : 0,
    fencedMs: isFenced ? Number(row.fenced) : undefined,
    operator: row.operator === '' ? undefined : row.operator,
  };
}

export async function isFenced(storage: Storage, instance: string): Promise<boolean> {
  const rows = await storage.rows(
    'SELECT instance FROM fenced_writers WHERE instance = {instance:UUID} LIMIT 1',
    {
      instance,
    },
  );
  return rows.length > 0;
}

/** The writer that an operator names by its number or its instance. Throws Problem `not_found` or `conflict`. */
export function findWriter(writers: readonly Writer[], name: string): Writer {
  const named = writers.filter(({ instance, number }) => instance === name || String(number) === name);
  // A number is given to another after a week; who is fenced is not meant.
  const open = named.filter(({ state }) => state !== 'fenced');
  const [writer, ...others] = open.length > 0 ? open : named;
  if (writer === undefined) throw new Problem('not_found', `there is no writer "${name}": see writers list`);
  if (others.length > 0)
    throw new Problem('conflict', `several writers had the number ${name}: name the one by its instance`);
  return writer;
}

/**
 * Gives a writer up: nobody waits for it any more. What it may have sent the engine has ended by then, and if it lives
 * it finds out before it sends anything else (see WriterRegistry): each says first that it is there and then looks for
 * the other. Throws Problem `conflict` for one that may be running.
 */
export async function fenceWriter(storage: Storage, writer: Writer, operator: string): Promise<void> {
  requireFenceable(writer);
  const { instance, number, low } = writer;
  await storage.insertRows('fenced_writers', [{ instance, id: number, low, operator }]);
  await sleep(limits.leaseAskMs);
  const now = (await listWriters(storage)).find((one) => one.instance === instance);
  if (now === undefined || now.unseenMs >= limits.writerFenceAfterMs) return;
  await storage.command('DELETE FROM fenced_writers WHERE instance = {instance:UUID}', { instance });
  throw new Problem('conflict', `writer ${number} has come back: it was not fenced`);
}

/** Throws Problem `conflict` where there is nothing to fence, or not yet. */
export function requireFenceable({ number, state, unseenMs }: Writer): void {
  if (state === 'fenced') throw new Problem('conflict', `writer ${number} is fenced already`);
  if (state === 'stopped')
    throw new Problem(
      'conflict',
      `writer ${number} has stopped with nothing left to send: nobody waits for it`,
    );
  const waitMs = limits.writerFenceAfterMs - unseenMs;
  if (waitMs <= 0) return;
  throw new Problem(
    'conflict',
    `writer ${number} was seen ${Math.round(unseenMs / 1000)} s ago: it may be running, or the engine be at what it sent last; stop it, ` +
      `and try again in ${Math.ceil(waitMs / 1000)} s`,
  );
}
