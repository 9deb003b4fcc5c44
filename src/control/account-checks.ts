import type { limits } from './limits.ts';

/** Of an account, whether it exists or not. Milliseconds of the store's clock; clients are hashed. Immutable: a store may retry. */
export interface Account {
  /** Begins of the last failed checks, oldest first, at most `passwordFailuresMax`. */
  readonly begun: readonly number[];
  /** Checks in a row that had to wait. */
  readonly delayed: number;
  /** Clients of right passwords. */
  readonly knownClients: readonly string[];
  /** Waiting clients, and until when. */
  readonly waiting: Readonly<Record<string, number>>;
}

export interface AccountChange<T> {
  readonly state: Account;
  readonly keptMs: number;
  readonly result: T;
}

/** Of one process, or of several together. */
export interface AccountStore {
  hide(text: string): string;
  /** Atomic. `change` may be called again. */
  update<T>(
    name: string,
    change: (account: Account | undefined, nowMs: number) => AccountChange<T>,
  ): T | Promise<T>;
}

/** Milliseconds. */
export type Outcome =
  | { readonly kind: 'checked' }
  | { readonly kind: 'waits'; readonly ms: number }
  | { readonly kind: 'refused'; readonly freeMs: number };

export type Bounds = Readonly<Record<keyof typeof limits, number>>;

interface Begin {
  readonly client: string;
  readonly signedIn: boolean;
  readonly waits: number;
}

const knownClientsMax = 4;
const unknown: Account = { begun: [], delayed: 0, knownClients: [], waiting: {} };

export class AccountChecks {
  readonly #bounds: Bounds;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** Unless it is refused. */
  begin(found: Account | undefined, now: number, begin: Begin): AccountChange<Outcome> {
    const { passwordFailuresMax, passwordFailuresWindowMs, passwordDelayMsMin, passwordDelayMsMax } =
      this.#bounds;
    const account = withoutWaited(found ?? unknown, now);
    const recent = account.begun.filter((at) => now - at < passwordFailuresWindowMs);
    const isMany = recent.length >= passwordFailuresMax;
    const begun = [...recent, now].slice(-passwordFailuresMax);
    if (!isMany) return this.#change({ ...account, begun, delayed: 0 }, { kind: 'checked' });
    if (!this.#hasSlot(account, begin)) {
      const until = account.waiting[begin.client];
      const free = until ?? Math.min(now + passwordDelayMsMax, ...Object.values(account.waiting));
      return this.#change(account, { kind: 'refused', freeMs: free - now });
    }
    const ms = Math.min(passwordDelayMsMax, passwordDelayMsMin * 2 ** account.delayed);
    const waiting = { ...account.waiting, [begin.client]: now + ms };
    return this.#change({ ...account, begun, waiting, delayed: account.delayed + 1 }, { kind: 'waits', ms });
  }

  endWait(found: Account | undefined, client: string): AccountChange<void> {
    const { [client]: _, ...waiting } = found?.waiting ?? {};
    return this.#change({ ...(found ?? unknown), waiting }, undefined);
  }

  /** The account starts anew. If the address has other users, only this try is taken back. */
  succeed(
    found: Account | undefined,
    { client, signedIn, ofAll }: Omit<Begin, 'waits'> & { readonly ofAll: boolean },
  ): AccountChange<void> {
    const account = found ?? unknown;
    if (!ofAll) {
      const { begun } = account;
      const isFull = begun.length >= this.#bounds.passwordFailuresMax;
      return this.#change({ ...account, begun: isFull ? begun : begun.slice(0, -1) }, undefined);
    }
    const others = account.knownClients.filter((known) => known !== client);
    const knownClients = signedIn ? account.knownClients : [client, ...others].slice(0, knownClientsMax);
    return this.#change({ ...account, begun: [], delayed: 0, knownClients }, undefined);
  }

  #hasSlot({ waiting, knownClients }: Account, { client, signedIn, waits }: Begin): boolean {
    const {
      passwordWaitsPerAccountMax,
      passwordWaitsPerAccountReserved,
      passwordWaitsMax,
      passwordWaitsReserved,
    } = this.#bounds;
    const isKnown = signedIn || knownClients.includes(client);
    const ofAccount = Object.keys(waiting).length;
    return (
      !Object.hasOwn(waiting, client) &&
      ofAccount < passwordWaitsPerAccountMax + (isKnown ? passwordWaitsPerAccountReserved : 0) &&
      waits < passwordWaitsMax + (isKnown ? passwordWaitsReserved : 0)
    );
  }

  #change<T>(state: Account, result: T): AccountChange<T> {
    const { passwordFailuresWindowMs, passwordDelayMsMax, passwordKnownClientsMs } = this.#bounds;
    const countedMs = passwordFailuresWindowMs + passwordDelayMsMax;
    const keptMs = state.knownClients.length > 0 ? Math.max(countedMs, passwordKnownClientsMs) : countedMs;
    return { state, keptMs, result };
  }
}

/** Left by a process that ended. */
function withoutWaited(account: Account, now: number): Account {
  const waiting = Object.entries(account.waiting).filter(([, until]) => until > now);
  return { ...account, waiting: Object.fromEntries(waiting) };
}
