import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { readIfThere } from '../../base/files/durable-file.ts';
import type { Config } from '../../config/config.ts';
import { sessionSecret } from '../../config/secrets.ts';
import { SealedSecrets } from '../../control/sealed-secret.ts';
import { defaultSignOn } from '../../control/default-sign-on.ts';
import { readControlState } from '../../control/directory.ts';
import { ProviderFailed } from '../../sign-on/provider-failed.ts';
import { Providers } from '../../sign-on/providers.ts';
import type { Setup } from '../command-work.ts';
import type { Storage } from '../../storage/storage.ts';
import { type Check, hostCheck, type Finding } from './check.ts';

const doctorProvidersMax = 100;
const doctorProviderSkewMsMax = 30_000;

/** Whether the sign-on providers answer, have the expected identity, and the same time. */
export async function checkSignOn(storage: Storage, setup: Setup): Promise<Check | undefined> {
  const { config } = setup;
  const settings = await settingsByProvider(storage, config);
  const secrets = new SealedSecrets(await knownSecret(setup));
  const providers = new Providers({ service: config.oidc, secrets });
  const findings: Finding[] = [];
  let asked = 0;
  for (const [id, one] of settings) {
    if (!providers.isThere(one)) continue;
    asked += 1;
    if (asked > doctorProvidersMax) break;
    try {
      const ahead = (await providers.of(one)?.clockAheadMs()) ?? 0;
      if (Math.abs(ahead) > doctorProviderSkewMsMax) findings.push(skewed(id, ahead));
    } catch (error) {
      if (!(error instanceof ProviderFailed)) throw error;
      findings.push(failing(id, error));
    }
  }
  const notes = asked > doctorProvidersMax ? [`only ${doctorProvidersMax} were asked`] : [];
  return asked === 0 ? undefined : hostCheck('sign_on', findings, notes);
}

/** A check creates no secret. If none exists, a temporary one replaces it: neither decrypts client secrets. */
async function knownSecret({ config, log }: Setup): Promise<string> {
  const isThere =
    config.sessionSecret !== undefined ||
    (await readIfThere(join(config.dataDir, 'session-secret'))) !== undefined;
  return isThere ? sessionSecret(config, log) : randomUUID();
}

async function settingsByProvider(storage: Storage, config: Config) {
  const state = await readControlState(storage);
  const all = state.organizations().map(({ id, slug }) => [slug, state.signOnOf(id)] as const);
  const named = all.filter(([, { provider }]) => provider === 'own');
  return config.oidc === undefined ? named : [['OIDC_PROVIDER', defaultSignOn('')] as const, ...named];
}

function skewed(id: string, aheadMs: number): Finding {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  return {
    id,
    detail: `the provider's clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine's: its tokens are rejected`,
    remedy: 'synchronize both clocks by NTP',
  };
}

function failing(id: string, { message, options }: ProviderFailed): Finding {
  const { cause } = options;
  return {
    id,
    detail: cause instanceof Error ? cause.message : message,
    remedy: 'check the connection to the provider, and its issuer, client and secret (sign-on list)',
  };
}
