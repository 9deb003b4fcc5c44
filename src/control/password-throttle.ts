import { AccountChecks, type AccountStore, type Bounds, type Outcome } from './account-checks.ts';
import { foldEmail } from './email-address.ts';
import { limits } from './limits.ts';
import { OwnAccounts } from './own-accounts.ts';
import { counter } from '../base/observability/metrics.ts';
import { Problem } from '../base/errors/problem.ts';
import { Pauses } from '../base/waiting/pauses.ts';
import { PasswordVerifier } from './passwords.ts';

/** Independent of whether the account exists. */
export interface Attempt {
  /** The one that the host names, or empty. */
  readonly scope: string;
  readonly email: string;
  /** An address, or a signed-in user. */
  readonly client: string;
  /** Has a session of this account. */
  readonly signedIn: boolean;
  /** Aborted when the caller leaves. */
  readonly caller: { readonly signal: AbortSignal };
}

export interface Right<T> {
  readonly value: T;
  /** Right for every user that the address can mean. */
  readonly ofAll: boolean;
}

/**
 * The only way to have a password checked (contract: Credentials). After `passwordFailuresMax` failures of an account in
 * `passwordFailuresWindowMs` each further check of it waits, twice as long each time, up to `passwordDelayMsMax`:
 *
 *     check ─▶ failures in the window? ─few─▶ counted, checked ─right─▶ the account starts anew
 *                └many─▶ a slot to wait in?─no─▶ 429
 *                           └yes─▶ counted, waits, checked
 *
 * A check counts when it begins, so parallel guesses count. Some slots are kept for signed-in users and for addresses of right
 * passwords: guessing can delay a user, but not lock them out. Only a password that is right for all users of an address
 * resets its count, because an administrator can give any address a password.
 */
export class PasswordThrottle {
  readonly #verifier = new PasswordVerifier();
  readonly #bounds: Bounds;
  readonly #checks: AccountChecks;
  readonly #accounts: AccountStore;
  readonly #waits = new Pauses();
  #stopped = false;
  readonly #delayed = counter(
    'auditlog_password_checks_delayed_total',
    'Password checks that had to wait, or were refused as too many waited, after many failures of an account.',
    ['outcome'],
  );

  constructor({
    accounts = new OwnAccounts(),
    bounds = {},
  }: { readonly accounts?: AccountStore; readonly bounds?: Partial<Bounds> } = {}) {
    this.#accounts = accounts;
    this.#bounds = { ...limits, ...bounds };
    this.#checks = new AccountChecks(this.#bounds);
  }

  /**
   * `check` returns undefined for a wrong password; it reads the account itself, as a minute may have passed. Throws Problem
   * `rate_limited` if too many wait, and `unavailable` if the caller goes away or the service stops.
   */
  async check<T>(
    attempt: Attempt,
    check: (verify: PasswordVerifier['verify']) => Promise<Right<T> | undefined>,
  ): Promise<T | undefined> {
    const { signedIn } = attempt;
    const name = this.#accounts.hide(`${attempt.scope}\n${foldEmail(attempt.email)}`);
    const client = this.#accounts.hide(attempt.client);
    const outcome = await this.#accounts.update(name, (account, now) =>
      this.#checks.begin(account, now, { client, signedIn, waits: this.#waits.count }),
    );
    await this.#wait(outcome, { name, client }, attempt.caller.signal);
    const right = await check((passwordHash, password) => this.#verifier.verify(passwordHash, password));
    if (right === undefined) return undefined;
    const { value, ofAll } = right;
    await this.#accounts.update(name, (account) =>
      this.#checks.succeed(account, { client, signedIn, ofAll }),
    );
    return value;
  }

  /** Ends waits, also later ones: the service stops. */
  stop(): void {
    this.#stopped = true;
    this.#waits.endAll();
  }

  async #wait(
    outcome: Outcome,
    { name, client }: { readonly name: string; readonly client: string },
    signal: AbortSignal,
  ): Promise<void> {
    if (outcome.kind === 'checked') return;
    if (outcome.kind === 'refused') {
      if (this.#stopped) throw shuttingDown();
      this.#delayed.inc({ outcome: 'refused' });
      throw this.#tooMany(outcome.freeMs);
    }
    try {
      if (this.#stopped) throw shuttingDown();
      this.#delayed.inc({ outcome: 'waited' });
      await this.#waits.take(outcome.ms, signal);
      if (signal.aborted) throw new Problem('unavailable', 'The client has gone away.');
      if (this.#stopped) throw shuttingDown();
    } finally {
      await this.#accounts.update(name, (account) => this.#checks.endWait(account, client));
    }
  }

  #tooMany(freeMs: number): Problem {
    const seconds = Math.max(1, Math.ceil(freeMs / 1000));
    return new Problem(
      'rate_limited',
      `Too many wrong passwords for this account; try again in ${seconds} s.`,
      {
        retryAfterSeconds: seconds,
        headers: {
          'RateLimit-Limit': String(this.#bounds.passwordFailuresMax),
          'RateLimit-Remaining': '0',
          'RateLimit-Reset': String(seconds),
        },
      },
    );
  }
}

function shuttingDown(): Problem {
  return new Problem('unavailable', 'The server is shutting down.', { retryAfterSeconds: 1 });
}
