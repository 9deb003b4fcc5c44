import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startTestEngine, type TestEngine } from './engine.ts';
import { type SharedServer, startServer, type TestServer } from './server.ts';

/**
 * One service and one engine for all test files of a process, stopped after its last file (`together.ts`). A
 * file that only adds organizations uses these: its own would cost three seconds of a processor.
 */

export type SharedEngine = Omit<TestEngine, 'stop' | 'engine'>;

/** Configured texts of the shared service, which need escaping in several formats. */
export const productNames = {
  VENDOR_NAME: 'Ödland "AG" \\ Söhne',
  PRODUCT_NAME: "Watch' %s {{tower}}",
  APP_NAME: 'Audit ✓ App',
};

/** Custom mappings. */
export const mappingsDir = fileURLToPath(new URL('../fixtures/mappings', import.meta.url));

export const bodyBytesMax = 8 * 1024 * 1024;

const environment = {
  ...productNames,
  MAX_BODY_BYTES: String(bodyBytesMax),
  RATE_LIMIT_TENANT: 'off',
  RATE_LIMIT_LOGIN: 'off',
  MAPPINGS_DIR: mappingsDir,
};

/** Building trees costs a fifth of an event's work: only the tests of `evidence` need it. */
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
