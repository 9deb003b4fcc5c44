import type { ByteFlow } from '../base/bytes/byte-flow.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import { projectFile } from '../base/files/project-file.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { singleFlight } from '../base/waiting/single-flight.ts';
import { ByteReader } from './byte-reader.ts';
import { limits } from './limits.ts';
import { StatementClient } from './statement-client.ts';
import type { EngineConnection } from './storage.ts';

/** Interval of probes of each address, with `readinessMsMax` to answer. */
const nodeProbeMs = 1_000;

export class EngineNode {
  readonly address: string;
  readonly path: string;
  readonly reader: ByteReader;
  readonly statements: StatementClient;
  isDown = false;
  /** Such as a server that has lost its disk. */
  isEmpty = false;
  readonly probe = singleFlight(() => this.#ask());
  readonly #database: string;
  readonly #underWay = new Set<() => void>();

  constructor(connection: EngineConnection, address: string) {
    const { user, password, headers, database } = connection;
    this.#database = database;
    const credentials = Buffer.from(`${user}:${password}`).toString('base64');
    const all = { Authorization: `Basic ${credentials}`, ...headers };
    const url = new URL(address);
    this.address = address;
    this.path = url.pathname.replace(/\/+$/, '');
    this.reader = new ByteReader(url, all);
    this.statements = new StatementClient({ ...connection, url: address });
  }

  /** Work with a signal that ends it as `unreachable` when the node is found down. */
  async untilDown<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ending = new AbortController();
    const end = (): void => ending.abort();
    let isLost = false;
    const lose = (): void => {
      isLost = true;
      end();
    };
    const leave = (): void => signal?.removeEventListener('abort', end);
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted === true) end();
    this.#underWay.add(lose);
    try {
      const result = await work(ending.signal);
      // A flow outlives this call, and still ends with the caller.
      if (isFlow(result)) result.onClosed(leave);
      else leave();
      return result;
    } catch (error) {
      leave();
      if (isLost) throw new EngineError('unreachable', 'The node stopped answering', undefined, error);
      throw error;
    } finally {
      this.#underWay.delete(lose);
    }
  }

  /** Any answer, even a refusal, proves that the node is up. */
  async #ask(): Promise<EngineError | undefined> {
    const statement = {
      query:
        "SELECT count() FROM system.tables WHERE database = {name:String} AND name = 'schema_migrations'",
      parameters: { name: this.#database },
      settings: { database: 'default' },
      timeoutMs: limits.readinessMsMax,
    };
    try {
      this.isEmpty = (await this.statements.run(statement)).trim() === '0';
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      if (error.failure !== 'refused') return error;
    }
    return undefined;
  }

  endAll(): void {
    for (const lose of this.#underWay) lose();
  }

  async close(): Promise<void> {
    this.reader.close();
    await this.statements.close();
  }
}

const isFlow = (result: unknown): result is ByteFlow =>
  typeof result === 'object' && result !== null && 'onClosed' in result;

/** Requests go to the first that answers: each is probed every second, and requests at one that does not answer are ended. */
export class EngineNodes {
  readonly all: readonly EngineNode[];
  readonly #log: Logger;
  readonly #probes: Repeated | undefined;

  constructor(connection: EngineConnection, log: Logger) {
    this.#log = log;
    const addresses = [connection.url, ...(connection.otherUrls ?? [])];
    this.all = addresses.map((address) => new EngineNode(connection, address));
    if (this.all.length > 1) {
      this.#probes = new Repeated(
        nodeProbeMs,
        () => this.#probeAll(),
        (error) => log.debug(errorFacts(error), 'Probing the nodes failed'),
      );
    }
  }

  /** The first node that answers and has tables; without tables anywhere, the first that answers; else the first. */
  get current(): EngineNode {
    const up = this.all.filter(({ isDown }) => !isDown);
    return up.find(({ isEmpty }) => !isEmpty) ?? up[0] ?? this.#first;
  }

  get #first(): EngineNode {
    const [first] = this.all;
    if (first === undefined) throw new Error('An engine needs an address');
    return first;
  }

  /** Runs work at one node only, as it may have taken effect. */
  async once<T>(
    signal: AbortSignal | undefined,
    work: (node: EngineNode, signal: AbortSignal | undefined) => Promise<T>,
    node = this.current,
  ): Promise<T> {
    if (this.all.length === 1) return work(node, signal);
    try {
      return await node.untilDown(signal, (ending) => work(node, ending));
    } catch (error) {
      const isGone = error instanceof EngineError && error.failure === 'unreachable';
      if (isGone && !node.isDown) await this.#probe(node);
      throw error;
    }
  }

  /** Runs repeatable work, at other nodes if the current one does not answer. */
  async anywhere<T>(
    signal: AbortSignal | undefined,
    work: (node: EngineNode, signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    const tried = new Set<EngineNode>();
    for (let node = this.current; ; ) {
      tried.add(node);
      try {
        return await this.once(signal, work, node);
      } catch (error) {
        const isGone = error instanceof EngineError && error.failure === 'unreachable';
        const next = this.all.find((other) => !tried.has(other) && !other.isDown && !other.isEmpty);
        if (!isGone || next === undefined) throw error;
        node = next;
      }
    }
  }

  async close(): Promise<void> {
    await this.#probes?.stop();
    await Promise.all(this.all.map((node) => node.close()));
  }

  async #probeAll(): Promise<void> {
    await Promise.all(this.all.map((node) => this.#probe(node)));
  }

  async #probe(node: EngineNode): Promise<void> {
    const wasEmpty = node.isEmpty;
    const failure = await node.probe();
    if (node.isEmpty && !wasEmpty && this.all.some((other) => !other.isDown && !other.isEmpty))
      this.#log.warn(
        { url: node.address },
        `a ClickHouse node has no tables: make it anew (${projectFile('docs/cluster.md')})`,
      );
    const isDown = failure !== undefined;
    // Even if it was down before: without any other node, requests go there.
    if (isDown) node.endAll();
    if (isDown === node.isDown) return;
    node.isDown = isDown;
    const url = node.address;
    if (failure === undefined) return this.#log.info({ url }, 'A ClickHouse node answers again');
    this.#log.warn({ url, ...errorFacts(failure) }, 'A ClickHouse node does not answer');
  }
}
