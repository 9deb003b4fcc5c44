import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { Problem } from '../base/problem.ts';
import type { AccessLog } from './access-log.ts';
import { type BodyBudget, BodyReceiver, type ReceivedBody } from './body.ts';
import { type Exchange, openExchange } from './exchange.ts';
import type { ObservedRequest } from './http-metrics.ts';
import { problemReply } from './problem-reply.ts';
import { type BodyAnnouncement, readHead, type RequestHead } from './request.ts';
import { type FixedReply, type Reply, sendFixed } from './response.ts';
import type { Handler, Match, PathParameters, RequestContext, Router } from './router.ts';
import { sendStream, type StallWatch } from './stream-reply.ts';
import type { UwsRequest, UwsResponse } from './uws.ts';

/** What the parts of one server share. */
export interface Shared {
  readonly router: Router;
  readonly log: Logger;
  readonly accessLog: AccessLog;
  readonly trustProxy: number;
  readonly budget: BodyBudget;
  readonly watch: StallWatch;
  readonly observe: (request: ObservedRequest) => void;
  readonly draining: () => boolean;
  readonly inFlight: () => number;
  readonly enter: () => void;
  readonly leave: () => void;
}

/**
 * A class, since accessors of an object literal are closures: the engine would give each such object a hidden class
 * of its own, which lives in the old generation and keeps all of the request alive until that is collected.
 */
class Context implements RequestContext {
  readonly requestId: string;
  readonly method: string;
  readonly rawPath: string;
  readonly path: string;
  readonly rawQuery: string;
  readonly headers: RequestHead['headers'];
  readonly ip: string;
  readonly port: string;
  readonly secure: boolean;
  readonly announcedBody: BodyAnnouncement;
  readonly #exchange: Exchange;
  readonly #parameters: PathParameters;
  #query: URLSearchParams | undefined;

  constructor(head: RequestHead, parameters: PathParameters, exchange: Exchange) {
    this.requestId = head.requestId;
    this.method = head.method;
    this.rawPath = head.rawPath;
    this.path = head.path;
    this.rawQuery = head.rawQuery;
    this.headers = head.headers;
    this.ip = head.ip;
    this.port = head.port;
    this.secure = head.secure;
    this.announcedBody = head.announcedBody;
    this.#parameters = parameters;
    this.#exchange = exchange;
  }

  get query(): URLSearchParams {
    return (this.#query ??= new URLSearchParams(this.rawQuery));
  }

  get signal(): AbortSignal {
    return this.#exchange.signal();
  }

  first(name: string): string | undefined {
    return this.rawQuery === '' ? undefined : (this.query.get(name) ?? undefined);
  }

  parameter(name: string): string {
    const text = this.#parameters[name];
    if (text === undefined) throw new Error(`the route has no parameter ${name}`);
    return text;
  }

  header(name: string): string | undefined {
    return this.headers.get(name);
  }

  body(): Promise<ReceivedBody> {
    return this.#exchange.body?.read() ?? Promise.resolve({ bytes: new Uint8Array(0), release: () => {} });
  }
}

function refusal(
  shared: Shared,
  { announcedBody: announced }: RequestHead,
  match: Match,
): Problem | undefined {
  if (shared.draining()) {
    return new Problem('unavailable', 'The server is shutting down.', {
      retryAfterSeconds: 1,
      headers: { Connection: 'close' },
    });
  }
  if (shared.inFlight() > limits.requestsInFlightMax) {
    return new Problem('unavailable', 'Too many requests are in progress.', { retryAfterSeconds: 1 });
  }
  if (announced.kind === 'invalid') {
    return new Problem('malformed', 'The request has no single valid Content-Length.');
  }
  const takesBody = match.kind === 'route' && match.route.body !== undefined;
  if (!takesBody && announced.kind === 'sized' && announced.bytes > limits.ignoredBodyBytesMax) {
    return new Problem('too_large', 'This resource takes no request body.');
  }
  return undefined;
}

/** The handler of a match: the route's, or one that answers for the router (contract: Errors). */
function handlerOf(match: Match): Handler {
  switch (match.kind) {
    case 'route':
      return match.route.handler;
    case 'options':
      return () => ({ status: 204, headers: { Allow: match.allow } });
    case 'other_method':
      return ({ method }) => {
        throw new Problem('method_not_allowed', `The method ${method.slice(0, 32)} is not allowed here.`, {
          headers: { Allow: match.allow },
        });
      };
    case 'unknown_path':
      return () => {
        throw new Problem('not_found', 'There is nothing at this path.');
      };
    default:
      return match satisfies never;
  }
}

const noParameters: PathParameters = {};

function parametersOf(match: Match): PathParameters {
  return match.kind === 'route' ? match.parameters : noParameters;
}

function openBody(
  shared: Shared,
  res: UwsResponse,
  announced: BodyAnnouncement,
  match: Match,
  onExcess: () => void,
): BodyReceiver {
  const maxBytes = match.kind === 'route' ? (match.route.body?.maxBytes ?? 0) : 0;
  return new BodyReceiver({
    announcement: announced,
    maxBytes,
    budget: shared.budget,
    onExcess,
    pause: () => res.pause(),
    resume: () => res.resume(),
  });
}

function open(
  shared: Shared,
  res: UwsResponse,
  head: RequestHead,
  match: Match,
  onReported: () => void,
): Exchange {
  const { accessLog } = shared;
  const announced = head.announcedBody;
  const startedMs = performance.now();
  const route = match.kind === 'route' ? match.route.name : match.kind;
  const body =
    announced.kind === 'none'
      ? undefined
      : openBody(shared, res, announced, match, () => exchange.abort(413));
  const exchange = openExchange({
    res,
    head,
    body,
    report({ status, bytesSent }) {
      const latencyMs = performance.now() - startedMs;
      const bytesReceived = body?.received() ?? 0;
      const { method, rawPath: path, ip, port } = head;
      accessLog.write({ status, latencyMs, method, path, ip, port, bytesSent, bytesReceived });
      shared.observe({ route, method, status, latencyMs, bytesSent, bytesReceived });
      onReported();
    },
  });
  if (body !== undefined) res.onData((chunk, isLast) => body.data(chunk, isLast));
  return exchange;
}

function send(shared: Shared, exchange: Exchange, answer: FixedReply): void {
  sendFixed(exchange, answer)?.catch((error: unknown) => {
    shared.log.error({ request_id: exchange.head.requestId, ...errorFacts(error) }, 'an answer broke off');
    exchange.abort(500);
  });
}

function fail(shared: Shared, exchange: Exchange, error: unknown): void {
  const { log } = shared;
  const { requestId } = exchange.head;
  if (exchange.open()) send(shared, exchange, problemReply(error, requestId, log));
  else
    log.debug({ request_id: requestId, ...errorFacts(error) }, 'a request failed after its client had gone');
}

/** Sends a reply, or the problem that it turned into. */
function reply(shared: Shared, exchange: Exchange, answer: Reply): void {
  const facts = (error: unknown): object => ({ request_id: exchange.head.requestId, ...errorFacts(error) });
  try {
    if ('stream' in answer) {
      sendStream(exchange, answer, {
        watch: shared.watch,
        onEarlyFailure: (error) => fail(shared, exchange, error),
        onLateFailure: (error) => shared.log.error(facts(error), 'a stream broke off'),
      });
    } else {
      send(shared, exchange, answer);
    }
  } catch (error) {
    if ('stream' in answer) answer.stream.destroy();
    fail(shared, exchange, error);
  }
}

/** The handler wants nothing more of the body: what is held is freed, what still comes is thrown away. */
function dropBody(exchange: Exchange): void {
  exchange.body?.discard(limits.ignoredBodyBytesMax);
  exchange.body?.release();
}

/** Runs a handler. One that is not asynchronous is answered before the library reads on, so pipelining works for it. */
function run(
  shared: Shared,
  exchange: Exchange,
  handler: Handler,
  context: RequestContext,
): Promise<void> | undefined {
  const onReply = (answer: Reply): void => {
    dropBody(exchange);
    reply(shared, exchange, answer);
  };
  const onError = (error: unknown): void => {
    dropBody(exchange);
    fail(shared, exchange, error);
  };
  try {
    const outcome = handler(context);
    if (outcome instanceof Promise) return outcome.then(onReply, onError);
    onReply(outcome);
  } catch (error) {
    onError(error);
  }
  return undefined;
}

/**
 * One request from its head to the line in the access log:
 *
 *   copy head ─▶ match ─▶ refuse (503 draining or crowded, 400, 413) ─▶ handler ─▶ reply or problem ─▶ report
 *                  └▶ 404, 405, OPTIONS are handlers of their own        └▶ client gone: signal, report 499
 */
export function serveRequest(shared: Shared, res: UwsResponse, req: UwsRequest): void {
  const { router, trustProxy } = shared;
  const head = readHead(res, req, trustProxy);
  const match = router.match(head.method, head.path);
  // A request is in flight until its answer is complete and its handler has returned, whichever is later.
  shared.enter();
  let parts = 2;
  const partDone = (): void => {
    if (--parts === 0) shared.leave();
  };
  const exchange = open(shared, res, head, match, partDone);
  const refused = refusal(shared, head, match);
  if (refused !== undefined) {
    dropBody(exchange);
    fail(shared, exchange, refused);
    partDone();
    return;
  }
  const running = run(shared, exchange, handlerOf(match), new Context(head, parametersOf(match), exchange));
  if (running === undefined) partDone();
  else void running.then(partDone);
}
