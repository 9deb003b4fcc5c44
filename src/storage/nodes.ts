import { projectFile } from '../base/files/project-file.ts';
import type { ByteFlow } from '../base/bytes/byte-flow.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { singleFlight } from '../base/waiting/single-flight.ts';
import { ByteReader } from './byte-reader.ts';
import { limits } from './limits.ts';
import { StatementClient } from './statement-client.ts';
import type { EngineConnection } from './storage.ts';

/** Each of several addresses of an engine is asked this often whether it answers within `readinessMsMax`. */
const nodeProbeMs = 1_000;

/** One address of the engine, with the connections to it. */
export class EngineNode {
  readonly address: string;
  /** Path of the address without a slash at its end; a proxy may stand before the engine. */
  readonly path: string;
  readonly reader: ByteReader;
  readonly statements: StatementClient;
  isDown = false;
  /** It answers, and has no tables: such as a server that has lost its disk, until it is made anew. */
  isEmpty = false;
  /** Asks whether the engine is there; requests that fail at once share an answer. Undefined: it is. */
  readonly probe = singleFlight(() => this.#ask());
  readonly #database: string;
  /** Ends a request that is under way, for each. */
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

  /** Work that is ended as `unreachable` when the node is found to be down. `work` gets a signal for that. */
  async untilDown<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ending = new AbortController();
    const end = (): void => ending.abort();
    let isLost = false;
    const lose = (): void => {
      isLost = true;
      end();
    };
    // The caller's signal may be that of a process: nothing stays on it.
    const leave = (): void => signal?.removeEventListener('abort', end);
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted === true) end();
    this.#underWay.add(lose);
    try {
      const result = await work(ending.signal);
      // A flow goes on beyond this, and still ends with the caller.
      if (isFlow(result)) result.onClosed(leave);
      else leave();
      return result;
    } catch (error) {
      leave();
      if (isLost) throw new EngineError('unreachable', 'the node does not answer any more', undefined, error);
      throw error;
    } finally {
      this.#underWay.delete(lose);
    }
  }

  /** Whatever an engine says, it is there. */
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

/**
 * The addresses of the engine. With several, requests go to the first that answers: each is asked every second whether
 * it does, and one that does not is left out until it does again, what is under way there ended. So nobody waits for a
 * node that hangs longer than that takes to be noticed.
 */
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
        (error) => log.debug(errorFacts(error), 'nodes could not be probed'),
      );
    }
  }

  /**
   * The node that requests go to: the first that answers and has tables, as far as is known. Where none has tables the first
   * that answers, as it is to get them; where none answers the first of all.
   */
  get current(): EngineNode {
    const up = this.all.filter(({ isDown }) => !isDown);
    return up.find(({ isEmpty }) => !isEmpty) ?? up[0] ?? this.#first;
  }

  get #first(): EngineNode {
    const [first] = this.all;
    if (first === undefined) throw new Error('an engine has an address');
    return first;
  }

  /** Work at the current node, which is not done elsewhere: whether it took effect may be unknown. */
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

  /** Work that may be done twice: at the current node, and where that does not answer at each other one. */
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
    // Also of one that was known to be down: where all are, requests go there all the same.
    if (isDown) node.endAll();
    if (isDown === node.isDown) return;
    node.isDown = isDown;
    const url = node.address;
    if (failure === undefined) return this.#log.info({ url }, 'a ClickHouse node answers again');
    this.#log.warn({ url, ...errorFacts(failure) }, 'a ClickHouse node does not answer');
  }
}
