import { randomUUID } from 'node:crypto';
import type { ReceivedBody } from './body.ts';
import type { Exchange } from './exchange.ts';
import type { RequestHead } from './request.ts';

/** Parameters of a path by their names. */
export type PathParameters = Readonly<Record<string, string>>;

/**
 * What a handler gets: the copied request, its body on demand, and a signal for the client's departure.
 *
 * A class, since accessors of an object literal are closures: the engine would give each such object a hidden class
 * of its own, which lives in the old generation and keeps all of the request alive until that is collected.
 */
export class RequestContext {
  readonly #exchange: Exchange;
  readonly #parameters: PathParameters;
  #query: URLSearchParams | undefined;
  #flowId: string | undefined;
  /** SHA-256 of the body, in hex, once it was read as JSON. */
  bodyDigest = '';

  constructor(exchange: Exchange, parameters: PathParameters) {
    this.#exchange = exchange;
    this.#parameters = parameters;
  }

  get head(): RequestHead {
    return this.#exchange.head;
  }

  /** A UUID that all events share which the service records of this request. */
  get flowId(): string {
    return (this.#flowId ??= randomUUID());
  }

  /** Fires when the client goes away. */
  get signal(): AbortSignal {
    return this.#exchange.signal();
  }

  /** The parameters of the query; a broken percent encoding stays as text. */
  get query(): URLSearchParams {
    return (this.#query ??= new URLSearchParams(this.head.rawQuery));
  }

  /** First value of a query parameter. */
  first(name: string): string | undefined {
    return this.query.get(name) ?? undefined;
  }

  /** Text of a parameter of the route's path, decoded and never empty. Throws where the route has no such parameter. */
  parameter(name: string): string {
    const text = this.#parameters[name];
    if (text === undefined) throw new Error(`the route has no parameter ${name}`);
    return text;
  }

  /** Value of a header; its name in lower case. */
  header(name: string): string | undefined {
    return this.head.headers.get(name);
  }

  /**
   * The whole body, at most `maxBytes` of the route; call it once. Rejects with a Problem (too_large, unavailable),
   * or when the client goes away. Ask for it before the first await, after the checks that need no body.
   */
  body(): Promise<ReceivedBody> {
    return this.#exchange.body?.read() ?? Promise.resolve({ bytes: new Uint8Array(0), release: () => {} });
  }
}
