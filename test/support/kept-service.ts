import { after, before } from 'node:test';
import {
  removeDirectory,
  type ServerOptions,
  startServer,
  temporaryDirectory,
  type TestServer,
} from './server.ts';

/** A data directory, and the services that run on it one after the other: for tests that stop, kill or restart theirs. */
export class KeptService {
  readonly #env: ServerOptions['env'];
  #dataDir = '';
  #server: TestServer | undefined;
  #starting: Promise<TestServer> | undefined;

  constructor(env: ServerOptions['env']) {
    this.#env = env;
  }

  get dataDir(): string {
    return this.#dataDir;
  }

  /** The one that was started last. */
  get server(): TestServer {
    if (this.#server === undefined) throw new Error('no service has been started');
    return this.#server;
  }

  /** For hooks of a file: where it is run alone, Node begins all of them at once. */
  async started(): Promise<TestServer> {
    if (this.#starting === undefined) throw new Error('nobody starts a service');
    return this.#starting;
  }

  /** Starts the next one, when the last has ended. */
  start(env = this.#env): Promise<TestServer> {
    this.#starting = this.#start(env);
    return this.#starting;
  }

  async #start(env: ServerOptions['env']): Promise<TestServer> {
    if (this.#dataDir === '') this.#dataDir = await temporaryDirectory();
    this.#server = await startServer({ dataDir: this.#dataDir, ...(env && { env }) });
    return this.#server;
  }

  async end(): Promise<void> {
    await this.#server?.stop();
    if (this.#dataDir !== '') await removeDirectory(this.#dataDir);
  }
}

/** Starts one before the tests of a file, or of the suite that it is called in, and ends it after them. */
export function keptService(env?: ServerOptions['env']): KeptService {
  const service = new KeptService(env);
  before(() => service.start());
  after(() => service.end());
  return service;
}
