import { AddressError, checkAddress } from '../base/network/address.ts';
import { type Config, ConfigError } from './config.ts';

/**
 * Checks the address before the engine starts and migrates for nothing. Rejects with a ConfigError if HOST or
 * PORT are unusable.
 */
export async function checkListener({ host, port }: Pick<Config, 'host' | 'port'>): Promise<void> {
  try {
    await checkAddress(host, port);
  } catch (error) {
    if (error instanceof AddressError) throw new ConfigError([error.message]);
    throw error;
  }
}
