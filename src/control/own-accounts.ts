import { createHash } from 'node:crypto';
import { FifoMap } from '../base/waiting/fifo-map.ts';
import type { Account, AccountChange, AccountStore } from './account-checks.ts';
import { limits } from './limits.ts';

/** In memory; above the bound the least recently changed account is dropped. */
export class OwnAccounts implements AccountStore {
  readonly #accounts = new FifoMap<Account>();
  readonly #nowMs: () => number;
  readonly #accountsMax: number;

  /** `nowMs`: a monotonic clock. */
  constructor({
    nowMs = () => performance.now(),
    accountsMax = limits.passwordAccountsMax,
  }: { readonly nowMs?: () => number; readonly accountsMax?: number } = {}) {
    this.#nowMs = nowMs;
    this.#accountsMax = accountsMax;
  }

  /** Every account takes the same memory. */
  hide(text: string): string {
    return createHash('sha256').update(text).digest('base64url');
  }

  update<T>(name: string, change: (account: Account | undefined, nowMs: number) => AccountChange<T>): T {
    const { state, result } = change(this.#accounts.get(name), this.#nowMs());
    this.#accounts.set(name, state);
    if (this.#accounts.size > this.#accountsMax) this.#accounts.removeOldest();
    return result;
  }
}
