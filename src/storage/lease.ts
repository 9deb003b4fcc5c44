import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { hasEnded, ownIdentity, type ProcessIdentity } from '../base/processes/process-identity.ts';
import { Problem } from '../base/errors/problem.ts';
import { everyReplicaOf, everywhere, requireMajority } from './cluster.ts';
import type { Storage } from './storage.ts';

/** A lease ends this long after its holder's last sign of life. */
const leaseMsMax = 30_000;
const leaseRenewMs = 5_000;
/** Longer than an insert takes to become visible, so that of two that ask for a lease at once each sees the other. */
const leaseAskMs = 400;

export interface LeaseOptions {
  readonly storage: Storage;
  /** What is held, such as `trees`. */
  readonly name: string;
  /** UUID of who holds it. */
  readonly owner: string;
  /** It ends so long after the last sign of life. */
  readonly lastsMs?: number;
  /** It ends with this process, and lasts by signs of life; else it is renewed by `take` alone. Default: true. */
  readonly endsWithProcess?: boolean;
  readonly log?: Logger;
}

/** Another that has the name, or asks for it. */
interface Rival {
  readonly owner: string;
  readonly host: string;
  readonly pid: number;
  /** Rises with each sign of life. */
  readonly newest: string;
}

/** The newest row of one owner. */
interface LeaseRow extends ProcessIdentity, Rival {
  /** False while it only asks. */
  readonly held: boolean;
  /** The number under which it held the lease, or the highest that it knew when it asked. */
  readonly number: string;
  /** How many milliseconds ago it was seen, and how long it lasts from then on. */
  readonly ageMs: string;
  readonly lastsMs: string;
}

/** Stands for a process that keeps its leases though it has ended. */
const nobody: ProcessIdentity = { place: '', pid: 0, begun: '' };

/**
 * Holds a name among the processes that share an engine, until this one ends it, is seen dead, or has given no sign of
 * life for too long.
 *
 *     ask ─▶ wait ─▶ look ─┬─ another holds it, or asked clearly before, or at once and is lower ─▶ end
 *                          └─▶ hold, with a number above all that were ever given ─▶ signs of life ─▶ end
 *
 * The number fences: of a name only the highest holds. So who writes under a lease calls `check` before, and one that
 * stood still while another took the name writes no more. On a machine where the owner's process is known to have ended the
 * next one takes the name at once.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #lastsMs: number;
  #version = 0n;
  #number = 0n;
  /** The highest number of the name that this one knows. */
  #highest = 0n;
  #process = nobody;
  /** The last sign of life that the engine took, by `performance.now()`. */
  #renewedMs = Number.NEGATIVE_INFINITY;
  #renewing: NodeJS.Timeout | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#lastsMs = options.lastsMs ?? leaseMsMax;
  }

  /** The fencing number: each time that the lease is held has a higher one; 0 before the first. */
  get number(): bigint {
    return this.#number;
  }

  /** False where another process has it. Rejects with EngineError. */
  async take(): Promise<boolean> {
    const begunMs = performance.now();
    if (this.#renewing !== undefined && this.#isYoung()) return true;
    this.abandon();
    const { endsWithProcess = true } = this.#options;
    if (endsWithProcess) this.#process = await ownIdentity();
    const { own: before, rivals } = await this.#look();
    if (rivals.length > 0) return false;
    if (!endsWithProcess && before?.held === true) await this.#hold(BigInt(before.number), begunMs);
    else if (await this.#ask()) await this.#hold(this.#highest + 1n, begunMs);
    else return false;
    return true;
  }

  /**
   * Whether nobody has taken it since, as most nodes know it: a mutation goes to all replicas also from a node that the others cannot
   * reach, where a renewal may have left a row that most do not have. Rejects with EngineError.
   */
  async holds(): Promise<boolean> {
    await requireMajority(this.#options.storage);
    const { own } = await this.#look();
    return own?.held === true && this.#number === this.#highest;
  }

  /** To be called before what only its holder may write. Rejects with a Problem `conflict`, and with EngineError. */
  async check(): Promise<void> {
    if (await this.holds()) return;
    this.abandon();
    const { name } = this.#options;
    throw new Problem('conflict', `another process has taken over "${name}": nothing more was changed`);
  }

  /** It gives no sign of life any more: it lapses, or ends with its process. */
  abandon(): void {
    clearInterval(this.#renewing);
    this.#renewing = undefined;
  }

  /** Leaves the name to whoever asks next. */
  async end(): Promise<void> {
    this.abandon();
    if (this.#number > 0n) await this.#put(false, this.#number, 0);
  }

  async #hold(number: bigint, begunMs: number): Promise<void> {
    this.abandon();
    this.#number = number;
    await this.#put(true, number, this.#lastsMs);
    this.#renewedMs = begunMs;
    const { endsWithProcess = true } = this.#options;
    if (endsWithProcess) this.#renewing = setInterval(() => void this.#renew(), leaseRenewMs);
  }

  /** Whether this one is the first of those that ask now. */
  async #ask(): Promise<boolean> {
    await this.#put(false, this.#highest, leaseMsMax);
    // What is put down is seen by others after a moment: so of two that ask at once each sees the other.
    await sleep(leaseAskMs);
    await requireMajority(this.#options.storage);
    const { rivals } = await this.#look();
    const isLost = rivals.some(
      ({ owner, held, ageMs }) => held || Number(ageMs) > leaseAskMs * 2 || owner < this.#options.owner,
    );
    if (isLost) await this.#put(false, this.#highest, 0);
    return !isLost;
  }

  /** The row of its own, and those of others, while they last. */
  async #look(): Promise<{ readonly own: LeaseRow | undefined; readonly rivals: readonly LeaseRow[] }> {
    const { storage, name, owner } = this.#options;
    const rows = await storage.rows<LeaseRow>(
      `SELECT toString(l.owner) AS owner, toString(max(version)) AS newest, toString(argMax(l.number, version)) AS number,
         argMax(l.held, version) AS held, toString(argMax(lasts, version)) AS lastsMs,
         toString(dateDiff('millisecond', argMax(seen, version), now64(3))) AS ageMs,
         argMax(l.host, version) AS host, argMax(l.place, version) AS place, argMax(l.pid, version) AS pid, argMax(l.begun, version) AS begun
       FROM ${everyReplicaOf(storage, 'leases')} AS l WHERE l.name = {name:String} GROUP BY l.owner`,
      { name },
      { settings: everywhere },
    );
    const lasting = rows.filter(({ ageMs, lastsMs }) => Number(ageMs) < Number(lastsMs));
    const ofOthers = lasting.filter((row) => row.owner !== owner);
    const dead = await Promise.all(ofOthers.map((row) => hasEnded(row)));
    for (const { newest, number } of rows) {
      if (BigInt(newest) > this.#version) this.#version = BigInt(newest);
      if (BigInt(number) > this.#highest) this.#highest = BigInt(number);
    }
    return {
      own: lasting.find((row) => row.owner === owner),
      rivals: ofOthers.filter((_, index) => dead[index] === false),
    };
  }

  /** The engine's clock says when it was seen, and versions rise without any. */
  async #put(held: boolean, number: bigint, lastsMs: number): Promise<void> {
    const { storage, name, owner } = this.#options;
    this.#version += 1n;
    const [fence, version] = [String(number), String(this.#version)];
    await storage.insertRows('leases', [
      { name, owner, held, number: fence, lasts: lastsMs, version, host: hostname(), ...this.#process },
    ]);
  }

  #isYoung(): boolean {
    return performance.now() - this.#renewedMs < this.#lastsMs;
  }

  /** What comes too late stays lost: another may have been told that it may begin. */
  async #renew(): Promise<void> {
    if (!this.#isYoung()) return this.abandon();
    const begunMs = performance.now();
    try {
      await this.#put(true, this.#number, this.#lastsMs);
      this.#renewedMs = begunMs;
    } catch (error) {
      this.#options.log?.debug(errorFacts(error), 'a lease could not be renewed yet');
    }
  }
}
