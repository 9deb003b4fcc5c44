import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { hasEnded, ownIdentity, type ProcessIdentity } from '../base/processes/process-identity.ts';
import { Problem } from '../base/errors/problem.ts';
import { everyReplicaOf, everywhere, requireMajority } from './cluster.ts';
import type { Storage } from './storage.ts';

const leaseMsMax = 30_000;
const leaseRenewMs = 5_000;
/** Longer than an insert needs to become visible, so that two concurrent requests see each other. */
const leaseAskMs = 400;

export interface LeaseOptions {
  readonly storage: Storage;
  readonly name: string;
  readonly owner: string;
  readonly lastsMs?: number;
  readonly endsWithProcess?: boolean;
  readonly log?: Logger;
}

interface Rival {
  readonly owner: string;
  readonly host: string;
  readonly pid: number;
  readonly newest: string;
}

interface LeaseRow extends ProcessIdentity, Rival {
  readonly held: boolean;
  readonly number: string;
  readonly ageMs: string;
  readonly lastsMs: string;
}

const nobody: ProcessIdentity = { place: '', pid: 0, begun: '' };

/**
 * Holds a name among the processes that share an engine, until this one ends it, is seen dead, or does not
 * renew it:
 *
 *     ask ─▶ wait ─▶ look ─┬─ another holds it, or asked clearly earlier, or tied with a lower id ─▶ end
 *                          └─▶ hold, with a number above all earlier ones ─▶ renew ─▶ end
 *
 * Only the highest number of a name holds. So call `check` before writing under a lease: another process may
 * have taken the name meanwhile, at once if this one is known to have ended.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #lastsMs: number;
  #version = 0n;
  #number = 0n;
  #highest = 0n;
  #process = nobody;
  #renewedMs = Number.NEGATIVE_INFINITY;
  #renewing: NodeJS.Timeout | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#lastsMs = options.lastsMs ?? leaseMsMax;
  }

  /** The fencing number: rises each time the lease is taken; 0 before. */
  get number(): bigint {
    return this.#number;
  }

  /** False if another process has the name. Rejects with EngineError. */
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
   * By a majority of nodes: a mutation also reaches all replicas from a node that the others cannot reach, where a renewal may
   * have left a row. Rejects with EngineError.
   */
  async holds(): Promise<boolean> {
    await requireMajority(this.#options.storage);
    const { own } = await this.#look();
    return own?.held === true && this.#number === this.#highest;
  }

  /**
   * Call before a write that only the owner may make. Rejects with a Problem `conflict`, and with
   * EngineError.
   */
  async check(): Promise<void> {
    if (await this.holds()) return;
    this.abandon();
    const { name } = this.#options;
    throw new Problem('conflict', `Another process has taken over "${name}"; nothing more was changed`);
  }

  abandon(): void {
    clearInterval(this.#renewing);
    this.#renewing = undefined;
  }

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

  async #ask(): Promise<boolean> {
    await this.#put(false, this.#highest, leaseMsMax);
    await sleep(leaseAskMs);
    await requireMajority(this.#options.storage);
    const { rivals } = await this.#look();
    const isLost = rivals.some(
      ({ owner, held, ageMs }) => held || Number(ageMs) > leaseAskMs * 2 || owner < this.#options.owner,
    );
    if (isLost) await this.#put(false, this.#highest, 0);
    return !isLost;
  }

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

  /** The engine's clock sets the time of renewal; versions rise without a clock. */
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

  /** A late renewal stays lost: another process may have taken the name. */
  async #renew(): Promise<void> {
    if (!this.#isYoung()) return this.abandon();
    const begunMs = performance.now();
    try {
      await this.#put(true, this.#number, this.#lastsMs);
      this.#renewedMs = begunMs;
    } catch (error) {
      this.#options.log?.debug(errorFacts(error), 'Renewing a lease failed; will retry');
    }
  }
}
