import type { limits } from './limits.ts';

/**
 * What is remembered of an account, whether it exists or not. Times are milliseconds of the store's clock, clients are
 * told apart by a hash. It is never changed in place: a store may have to begin a change anew.
 */
export interface Account {
  /** When the last checks began that have not succeeded, oldest first, at most `passwordFailuresMax`. */
  readonly begun: readonly number[];
  /** How many checks in a row had to wait. */
  readonly delayed: number;
  /** From where the right password came lately. */
  readonly knownClients: readonly string[];
  /** The clients that wait, and until when. */
  readonly waiting: Readonly<Record<string, number>>;
}

export interface AccountChange<T> {
  readonly state: Account;
  /** How long it must be remembered when nothing else happens. */
  readonly keptMs: number;
  readonly result: T;
}

/** Remembers accounts by name; of one process, or of several together. */
export interface AccountStore {
  /** A text as it stands in names and accounts. */
  hide(text: string): string;
  /** Reads and changes an account in one step. `change` may be called more than once, and does nothing else. */
  update<T>(
    name: string,
    change: (account: Account | undefined, nowMs: number) => AccountChange<T>,
  ): T | Promise<T>;
}

/** What becomes of a check: it goes on at once or after a wait, or too many wait already; times in milliseconds. */
export type Outcome =
  | { readonly kind: 'checked' }
  | { readonly kind: 'waits'; readonly ms: number }
  | { readonly kind: 'refused'; readonly freeMs: number };

export type Bounds = Readonly<Record<keyof typeof limits, number>>;

/** Whose check it is, and how many of other accounts wait in this process. */
interface Begin {
  readonly client: string;
  readonly signedIn: boolean;
  readonly waits: number;
}

const knownClientsMax = 4;
const unknown: Account = { begun: [], delayed: 0, knownClients: [], waiting: {} };

/** The rules of `PasswordThrottle`, over one account. */
export class AccountChecks {
  readonly #bounds: Bounds;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** Counts a check that begins, unless it is refused. */
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

  /** The client does not wait any more. */
  endWait(found: Account | undefined, client: string): AccountChange<void> {
    const { [client]: _, ...waiting } = found?.waiting ?? {};
    return this.#change({ ...(found ?? unknown), waiting }, undefined);
  }

  /**
   * The right password has come: the account starts anew. Where the address stands for others, too, that says nothing of
   * tries at theirs: then only this try is taken back, as long as there is room for all.
   */
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

/** A process that ended while a check waited has left it there. */
function withoutWaited(account: Account, now: number): Account {
  const waiting = Object.entries(account.waiting).filter(([, until]) => until > now);
  return { ...account, waiting: Object.fromEntries(waiting) };
}
