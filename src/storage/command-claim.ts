import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { errorFacts, type Logger } from '../base/log.ts';
import { hasEnded, ownIdentity, type ProcessIdentity } from '../base/process-identity.ts';
import { segmentTimeMs } from '../base/sequence.ts';
import { Attempts } from './attempts.ts';
import { everyReplicaOf } from './replicas.ts';
import { limits } from './limits.ts';
import type { Storage } from './storage.ts';
import { claimWatermark, closeWatermark, isOpen, renewWatermark, withdrawWatermark } from './watermarks.ts';

/** Of the statements that store a segment of a command. */
export const commandName = (writer: string): string => `command-${writer}`;

/**
 * The claim of a command that writes past the log of a server: readers of the feed wait for it. It ends with its command:
 * of one that was killed a server on the same machine sees that it has ended, and any other has no sign of life of it for
 * `watermarkClaimMsMax`. One that has lapsed stays so, and the engine stores nothing of it any more (`condition`): what a
 * command that had stood still sends too late cannot get below what readers were handed out.
 */
export class CommandClaim {
  readonly writer: string;
  readonly #storage: Storage;
  readonly #owner: ProcessIdentity;
  readonly #renewing: NodeJS.Timeout;
  #low: number;

  private constructor(storage: Storage, writer: string, owner: ProcessIdentity, low: number, log: Logger) {
    this.#storage = storage;
    this.writer = writer;
    this.#owner = owner;
    this.#low = low;
    this.#renewing = setInterval(() => {
      renewWatermark(storage, writer, this.#low).catch((error: unknown) =>
        log.debug(errorFacts(error), 'a claim could not be renewed yet'),
      );
    }, limits.watermarkRenewMs);
  }

  /** From `low` on it may write. Rejects with EngineError. */
  static async begin(storage: Storage, low: number, log: Logger): Promise<CommandClaim> {
    const [writer, owner] = [randomUUID(), await ownIdentity()];
    await writeOwner(storage, writer, owner, 0);
    await claimWatermark(storage, writer, low);
    return new CommandClaim(storage, writer, owner, low, log);
  }

  /** It writes this segment and no other. */
  async take(segment: number): Promise<void> {
    await writeOwner(this.#storage, this.writer, this.#owner, segment);
    this.#low = segment;
    await renewWatermark(this.#storage, this.writer, segment);
  }

  /** For the WHERE of what it stores: the engine looks when it begins. */
  get condition(): string {
    return aliveCondition(this.#storage, this.writer);
  }

  /** Whether it has never lapsed. */
  async isAlive(): Promise<boolean> {
    const [row] = await this.#storage.rows<{ alive: number }>(`SELECT ${this.condition} AS alive`);
    return row?.alive === 1;
  }

  /** It gives no sign of life any more: what it has written nobody knows, and it lapses, or ends with its process. */
  abandon(): void {
    clearInterval(this.#renewing);
  }

  /** It writes no more, and has written nothing above `last`. */
  async end(last = 0): Promise<void> {
    this.abandon();
    await withdrawWatermark(this.#storage, this.writer, last);
  }
}

const aliveCondition = (storage: Storage, writer: string): string =>
  `(SELECT argMax(until, version) FROM ${everyReplicaOf(storage, 'watermarks')} WHERE writer = '${writer}') > now64(3)`;

function writeOwner(
  storage: Storage,
  writer: string,
  owner: ProcessIdentity,
  segment: number,
): Promise<void> {
  return storage.insertRows('watermark_owners', [{ writer, host: hostname(), ...owner, segment }]);
}

/** A claim of a command that the feed waits for. */
export interface OpenClaim extends ProcessIdentity {
  readonly writer: string;
  readonly host: string;
  readonly low: number;
  /** That its command may be storing; 0: none. */
  readonly segment: number;
  /** There was no sign of life for too long. */
  readonly hasLapsed: boolean;
  /** How far behind the clock the feed is because of it. */
  readonly heldMs: number;
}

/** Claims of commands, not of servers, that nobody has ended. Rejects with EngineError. */
export async function openClaims(storage: Storage): Promise<OpenClaim[]> {
  type Row = Record<'writer' | 'place' | 'host' | 'begun' | 'low' | 'segment' | 'now', string> & {
    readonly pid: number;
    readonly lapsed: number;
  };
  const rows = await storage.rows<Row>(
    `SELECT toString(m.writer) AS writer, toString(m.low) AS low, m.until <= now64(3) AS lapsed,
       o.place AS place, o.host AS host, o.pid AS pid, o.begun AS begun, toString(o.segment) AS segment,
       toString(toUnixTimestamp64Milli(now64(3))) AS now
     FROM (SELECT * FROM watermarks FINAL WHERE ${isOpen}) AS m
     INNER JOIN (SELECT * FROM watermark_owners FINAL) AS o ON o.writer = m.writer`,
  );
  return rows.map(({ writer, place, host, pid, begun, low, segment, lapsed, now }) => ({
    writer,
    place,
    host,
    pid,
    begun,
    low: Number(low),
    segment: Number(segment),
    hasLapsed: lapsed === 1,
    heldMs: Math.max(0, Number(now) - segmentTimeMs(Number(low))),
  }));
}

/**
 * Ends the claims of commands that have ended, or have given no sign of life for too long: first nothing more of one can
 * begin to be stored, then what may be under way is ended, then nobody waits for it. Rejects with EngineError, and where a
 * node that may be at it does not answer; the claim then holds.
 */
export async function endLostClaims(storage: Storage): Promise<void> {
  for (const claim of await openClaims(storage)) {
    if (!claim.hasLapsed && !(await hasEnded(claim))) continue;
    const { writer, low, segment } = claim;
    await closeWatermark(storage, writer, low);
    const queryId = `${storage.database}-${commandName(writer)}-${segment}`;
    if (segment > 0) await new Attempts(storage).rowsStored(segment, queryId);
    await withdrawWatermark(storage, writer, low);
  }
}
