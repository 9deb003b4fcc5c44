import { after, before } from 'node:test';
import { removeDirectory, temporaryDirectory } from './directories.ts';
import { type ServerOptions, startServer, type TestServer } from './server.ts';

/** A data directory with successive services, for tests that stop, kill or restart theirs. */
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

  /** The latest one. */
  get server(): TestServer {
    if (this.#server === undefined) throw new Error('no service has been started');
    return this.#server;
  }

  /** The first one, once it listens; hooks of a file may run concurrently. */
  ready(): Promise<TestServer> {
    this.#first ??= this.start();
    return this.#first;
  }

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

/** Starts one before the tests of a file or suite, and stops it after them. */
export function keptService(env?: ServerOptions['env'], intervals?: ServerOptions['intervals']): KeptService {
  const service = new KeptService(env, intervals);
  before(() => service.ready());
  after(() => service.end());
  return service;
}
