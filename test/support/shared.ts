import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startTestEngine, type TestEngine } from './engine.ts';
import { type SharedServer, startServer, type TestServer } from './server.ts';

/**
 * One service, and one engine, for all test files of this process. A file that changes nothing beyond organizations of
 * its own uses these: to start its own takes three seconds of a processor. Both are stopped when the process has run
 * all of its files, be it one alone or several together (`together.ts`).
 */

export type SharedEngine = Omit<TestEngine, 'stop' | 'engine'>;

/** The texts of every event that the shared service puts out: what needs escaping somewhere. */
export const productNames = {
  VENDOR_NAME: 'Ödland "AG" \\ Söhne',
  PRODUCT_NAME: "Watch' %s {{tower}}",
  APP_NAME: 'Audit ✓ App',
};

/** Mappings of its own, as an installation has them. */
export const mappingsDir = fileURLToPath(new URL('../fixtures/mappings', import.meta.url));

export const bodyBytesMax = 8 * 1024 * 1024;

const environment = {
  ...productNames,
  MAX_BODY_BYTES: String(bodyBytesMax),
  RATE_LIMIT_TENANT: 'off',
  RATE_LIMIT_LOGIN: 'off',
  MAPPINGS_DIR: mappingsDir,
};

/** To build the trees takes a fifth of what the engine has to do for an event: `evidence` is about them. */
const intervals = { evidenceMs: 5_000 };

let server: Promise<TestServer> | undefined;
let engine: Promise<TestEngine> | undefined;

after(async () => {
  await (await server)?.stop();
  await (await engine)?.stop();
});

export function sharedServer(): Promise<SharedServer> {
  server ??= startServer({ env: environment, intervals });
  return server;
}

export function sharedEngine(): Promise<SharedEngine> {
  engine ??= startTestEngine();
  return engine;
}
