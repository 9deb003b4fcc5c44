import { randomUUID } from 'node:crypto';
import type { ReceivedBody } from './body.ts';
import type { Exchange } from './exchange.ts';
import type { RequestHead } from './request.ts';

export type PathParameters = Readonly<Record<string, string>>;

/**
 * A class: accessors of an object literal would give each object its own hidden class in the old generation, which keeps the
 * request alive until a full collection.
 */
export class RequestContext {
  readonly #exchange: Exchange;
  readonly #parameters: PathParameters;
  #query: URLSearchParams | undefined;
  #flowId: string | undefined;
  /** In hex, once the body was read as JSON. */
  bodyDigest = '';

  constructor(exchange: Exchange, parameters: PathParameters) {
    this.#exchange = exchange;
    this.#parameters = parameters;
  }

  get head(): RequestHead {
    return this.#exchange.head;
  }

  get flowId(): string {
    return (this.#flowId ??= randomUUID());
  }

  get signal(): AbortSignal {
    return this.#exchange.signal();
  }

  get query(): URLSearchParams {
    return (this.#query ??= new URLSearchParams(this.head.rawQuery));
  }

  first(name: string): string | undefined {
    return this.query.get(name) ?? undefined;
  }

  /** A parameter of the route's path, decoded and never empty. Throws if the route has no such parameter. */
  parameter(name: string): string {
    const text = this.#parameters[name];
    if (text === undefined) throw new Error(`the route has no parameter ${name}`);
    return text;
  }

  /** `name` in lower case. */
  header(name: string): string | undefined {
    return this.head.headers.get(name);
  }

  /**
   * At most the route's `maxBytes`. Call it once, before the first await. Rejects with a Problem, or if the client disconnects.
   */
  body(): Promise<ReceivedBody> {
    return this.#exchange.body?.read() ?? Promise.resolve({ bytes: new Uint8Array(0), release: () => {} });
  }
}
