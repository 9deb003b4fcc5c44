import { createHash } from 'node:crypto';
import { limits } from './limits.ts';
import { counter } from '../base/metrics.ts';
import { FifoMap } from '../base/fifo-map.ts';
import { Problem } from '../base/problem.ts';
import { PasswordVerifier } from './passwords.ts';

/** Who wants a password checked, and of which account. Nothing in it depends on whether the account exists. */
export interface Attempt {
  /** The organization that the host names, or empty: the accounts that one address of a user can mean. */
  readonly scope: string;
  readonly email: string;
  /** Whom the caller is taken for: an address, or a user who is signed in. */
  readonly client: string;
  /** Whether the caller has a session of this very account. */
  readonly signedIn: boolean;
  /** Fires when the caller goes away. */
  readonly caller: { readonly signal: AbortSignal };
}

/** What is remembered of an account, whether it exists or not; times in milliseconds of the throttle's clock. */
interface Account {
  /** When the last checks began that have not succeeded, oldest first, at most `passwordFailuresMax`. */
  begun: number[];
  /** How many checks in a row had to wait. */
  delayed: number;
  /** From where the right password came lately. */
  knownClients: string[];
  /** The clients that wait, and until when. */
  readonly waiting: Map<string, number>;
}

type Bounds = Readonly<Record<keyof typeof limits, number>>;

const knownClientsMax = 4;

/**
 * The only way to have a password checked (contract: Credentials). After `passwordFailuresMax` failures of an account in
 * `passwordFailuresWindowMs` each further check of it waits, twice as long each time, up to `passwordDelayMsMax`:
 *
 *     check ─▶ failures in the window? ─few─▶ counted, checked ─right─▶ the account starts anew
 *                └many─▶ a slot to wait in?─no─▶ 429
 *                           └yes─▶ counted, waits, checked
 *
 * A check counts when it begins, so parallel guesses count before any of them is answered. A client waits once for an
 * account, and some slots are kept for those who are signed in and for addresses that the right password came from:
 * who guesses can make the user wait, but not keep the user out.
 */
export class PasswordThrottle {
  readonly #verifier = new PasswordVerifier();
  readonly #nowMs: () => number;
  readonly #bounds: Bounds;
  readonly #accounts = new FifoMap<Account>();
  /** One for each check that waits; ends its wait. */
  readonly #waits = new Set<(problem: Problem) => void>();
  #stopped = false;
  readonly #delayed = counter(
    'auditlog_password_checks_delayed_total',
    'Password checks that had to wait, or were refused as too many waited, after many failures of an account.',
    ['outcome'],
  );

  /** `nowMs` is a clock that is never set back. */
  constructor({
    nowMs = () => performance.now(),
    bounds = {},
  }: { readonly nowMs?: () => number; readonly bounds?: Partial<Bounds> } = {}) {
    this.#nowMs = nowMs;
    this.#bounds = { ...limits, ...bounds };
  }

  /**
   * Runs a check and gives its result; undefined stands for a password that is not right. `check` must read what it
   * compares with by itself: up to a minute may have passed. Throws Problem `rate_limited` where too many wait, and
   * `unavailable` when the caller goes away or the service stops.
   */
  async check<T>(
    attempt: Attempt,
    check: (verify: PasswordVerifier['verify']) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const account = this.#accountOf(attempt);
    await this.#begin(account, attempt);
    const result = await check((passwordHash, password) => this.#verifier.verify(passwordHash, password));
    if (result !== undefined) succeed(account, attempt);
    return result;
  }

  /** Ends all waits, those that would begin later included: for a service that stops. */
  stop(): void {
    this.#stopped = true;
    for (const end of this.#waits) end(shuttingDown());
  }

  #accountOf({ scope, email }: Attempt): Account {
    // Hashed, so that every account takes the same memory.
    const key = createHash('sha256').update(`${scope}\n${email.toLowerCase()}`).digest('base64');
    const account = this.#accounts.get(key) ?? {
      begun: [],
      delayed: 0,
      knownClients: [],
      waiting: new Map(),
    };
    this.#accounts.set(key, account);
    if (this.#accounts.size > this.#bounds.passwordAccountsMax) this.#accounts.removeOldest();
    return account;
  }

  /** Counts a check; what it has to wait for, if anything. */
  #begin(account: Account, attempt: Attempt): Promise<void> | undefined {
    const { passwordFailuresMax, passwordFailuresWindowMs } = this.#bounds;
    const now = this.#nowMs();
    const [oldest = now] = account.begun.slice(-passwordFailuresMax);
    const many = account.begun.length >= passwordFailuresMax && now - oldest < passwordFailuresWindowMs;
    if (!many) account.delayed = 0;
    const wait = many ? this.#wait(account, attempt, now) : undefined;
    account.begun = [...account.begun, now].slice(-passwordFailuresMax);
    return wait;
  }

  #wait(account: Account, attempt: Attempt, now: number): Promise<void> {
    const { passwordDelayMsMin, passwordDelayMsMax } = this.#bounds;
    if (this.#stopped) throw shuttingDown();
    if (!this.#hasSlot(account, attempt)) {
      this.#delayed.inc({ outcome: 'refused' });
      throw this.#tooMany(account, attempt, now);
    }
    this.#delayed.inc({ outcome: 'waited' });
    const delayMs = Math.min(passwordDelayMsMax, passwordDelayMsMin * 2 ** account.delayed);
    account.delayed += 1;
    account.waiting.set(attempt.client, now + delayMs);
    return this.#sleep(delayMs, attempt.caller.signal).finally(() => account.waiting.delete(attempt.client));
  }

  #hasSlot({ waiting, knownClients }: Account, { client, signedIn }: Attempt): boolean {
    const {
      passwordWaitsPerAccountMax,
      passwordWaitsPerAccountReserved,
      passwordWaitsMax,
      passwordWaitsReserved,
    } = this.#bounds;
    const isKnown = signedIn || knownClients.includes(client);
    return (
      !waiting.has(client) &&
      waiting.size < passwordWaitsPerAccountMax + (isKnown ? passwordWaitsPerAccountReserved : 0) &&
      this.#waits.size < passwordWaitsMax + (isKnown ? passwordWaitsReserved : 0)
    );
  }

  #tooMany({ waiting }: Account, { client }: Attempt, now: number): Problem {
    const { passwordDelayMsMax, passwordFailuresMax } = this.#bounds;
    const freeMs = waiting.get(client) ?? Math.min(now + passwordDelayMsMax, ...waiting.values());
    const seconds = Math.max(1, Math.ceil((freeMs - now) / 1000));
    return new Problem(
      'rate_limited',
      `Too many wrong passwords for this account; try again in ${seconds} s.`,
      {
        retryAfterSeconds: seconds,
        headers: {
          'RateLimit-Limit': String(passwordFailuresMax),
          'RateLimit-Remaining': '0',
          'RateLimit-Reset': String(seconds),
        },
      },
    );
  }

  /** Resolves after the time; rejects earlier when the caller goes away or the throttle is stopped. */
  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (problem?: Problem): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onGone);
        this.#waits.delete(end);
        if (problem === undefined) resolve();
        else reject(problem);
      };
      const onGone = (): void => end(new Problem('unavailable', 'The client has gone away.'));
      const timer = setTimeout(end, ms);
      this.#waits.add(end);
      if (signal.aborted) onGone();
      else signal.addEventListener('abort', onGone, { once: true });
    });
  }
}

function shuttingDown(): Problem {
  return new Problem('unavailable', 'The server is shutting down.', { retryAfterSeconds: 1 });
}

function succeed(account: Account, { client, signedIn }: Attempt): void {
  account.begun = [];
  account.delayed = 0;
  if (signedIn) return;
  const others = account.knownClients.filter((known) => known !== client);
  account.knownClients = [client, ...others].slice(0, knownClientsMax);
}
