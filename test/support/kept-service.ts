import { after, before } from 'node:test';
import { removeDirectory, temporaryDirectory } from './directories.ts';
import { type ServerOptions, startServer, type TestServer } from './server.ts';

/** A data directory, and the services that run on it one after the other: for tests that stop, kill or restart theirs. */
export class KeptService {
  readonly #env: ServerOptions['env'];
  readonly #intervals: ServerOptions['intervals'];
  #dataDir = '';
  #server: TestServer | undefined;
  #first: Promise<TestServer> | undefined;

  constructor(env?: ServerOptions['env'], intervals?: ServerOptions['intervals']) {
    this.#env = env;
    this.#intervals = intervals;
  }

  get dataDir(): string {
    return this.#dataDir;
  }

  /** The one that was started last. */
  get server(): TestServer {
    if (this.#server === undefined) throw new Error('no service has been started');
    return this.#server;
  }

  /** The first one, once it listens. Hooks of a file wait for it: they may run side by side. */
  ready(): Promise<TestServer> {
    this.#first ??= this.start();
    return this.#first;
  }

  /** Starts the next one, when the last has ended. */
  async start(env = this.#env): Promise<TestServer> {
    if (this.#dataDir === '') this.#dataDir = await temporaryDirectory();
    const intervals = this.#intervals && { intervals: this.#intervals };
    this.#server = await startServer({ dataDir: this.#dataDir, ...(env && { env }), ...intervals });
    return this.#server;
  }

  async end(): Promise<void> {
    await this.#server?.stop();
    if (this.#dataDir !== '') await removeDirectory(this.#dataDir);
  }
}

/** Starts one before the tests of a file, or of the suite that it is called in, and ends it after them. */
export function keptService(env?: ServerOptions['env'], intervals?: ServerOptions['intervals']): KeptService {
  const service = new KeptService(env, intervals);
  before(() => service.ready());
  after(() => service.end());
  return service;
}
