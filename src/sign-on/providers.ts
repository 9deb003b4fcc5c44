import { FifoMap } from '../base/waiting/fifo-map.ts';
import type { SealedSecrets } from '../control/sealed-secret.ts';
import { secretPurpose, type SignOnSettings } from '../control/sign-on-settings.ts';
import { Provider, type ProviderClient } from './provider.ts';
import { unavailable } from './provider-failed.ts';

const providersMax = 1_000;

export interface ProvidersOptions {
  readonly service: ProviderClient | undefined;
  readonly secrets: SealedSecrets;
}

export class Providers {
  readonly #options: ProvidersOptions;
  readonly #providers = new FifoMap<Provider>();

  constructor(options: ProvidersOptions) {
    this.#options = options;
  }

  isThere(settings: SignOnSettings): boolean {
    return (
      settings.provider === 'own' || (settings.provider === 'service' && this.#options.service !== undefined)
    );
  }

  /** Undefined without a provider. Throws ProviderFailed if its secret cannot be read. */
  of(settings: SignOnSettings): Provider | undefined {
    if (!this.isThere(settings)) return undefined;
    const client = settings.provider === 'own' ? this.#ownClient(settings) : this.#options.service;
    if (client === undefined) return undefined;
    const name = JSON.stringify([client.issuer, client.clientId, client.clientSecret]);
    const known = this.#providers.get(name);
    if (known !== undefined) return known;
    const provider = new Provider(client);
    this.#providers.set(name, provider);
    if (this.#providers.size > providersMax) this.#providers.removeOldest();
    return provider;
  }

  #ownClient(settings: SignOnSettings): ProviderClient {
    const { issuer, clientId, clientSecret: sealed } = settings;
    if (sealed === '') return { issuer, clientId, clientSecret: undefined };
    const clientSecret = this.#options.secrets.open(sealed, secretPurpose(settings));
    if (clientSecret !== undefined) return { issuer, clientId, clientSecret };
    throw unavailable(
      new Error('the client secret was stored with another SESSION_SECRET; set it again with sign-on set'),
    );
  }
}
