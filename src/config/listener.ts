import { AddressError, checkAddress } from '../base/network/address.ts';
import { type Config, ConfigError } from './config.ts';

/**
 * Looks whether the service could listen, before the engine starts and migrates for nothing. Rejects with a ConfigError
 * where HOST or PORT are to be changed, else with one that says who is in the way.
 */
export async function checkListener({ host, port }: Pick<Config, 'host' | 'port'>): Promise<void> {
  try {
    await checkAddress(host, port);
  } catch (error) {
    if (error instanceof AddressError && error.reason === 'unusable') throw new ConfigError([error.message]);
    throw error;
  }
}
