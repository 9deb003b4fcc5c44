import type { Account } from '../control/account-checks.ts';
import { OwnAccounts } from '../control/own-accounts.ts';
import { RateLimiter } from '../http/rate-limit.ts';
import type { Base } from './base.ts';

/** What limits are counted by: this process alone, or together with others through Redis. */
export async function openCounts({ config, log, stops }: Base, secret: string) {
  const own = new RateLimiter(() => performance.now());
  const { redisUrl: url } = config;
  if (url === undefined) {
    const words = 'limits and failed passwords are counted by each process for itself; REDIS_URL shares them';
    if (config.clickhouse.url !== undefined) log.info({}, words);
    return { rateCounter: own, accounts: new OwnAccounts(), limitsShared: () => undefined };
  }
  if (config.sessionSecret === undefined) {
    const words =
      'without SESSION_SECRET, limits are shared through Redis by processes on this DATA_DIR alone';
    log.warn({}, words);
  }
  // Its packages are not loaded where nothing is shared.
  const { SharedCounts } = await import('../redis/shared-counts.ts');
  const shared = await SharedCounts.open({ url, secret, log });
  stops.add(() => shared.stop());
  return {
    rateCounter: shared.rates(own),
    accounts: shared.records<Account>('account', (nowMs) => new OwnAccounts({ nowMs })),
    limitsShared: () => shared.isReachable,
  };
}
