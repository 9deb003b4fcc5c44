import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Problem } from '../base/errors/problem.ts';
import { type RequestSpan, requestTracer } from '../base/observability/trace.ts';
import type { AccessLog, AccessRecord } from './access-log.ts';
import { type BodyBudget, BodyReceiver, type BodyReceiverOptions } from './body.ts';
import { Exchange, type Outcome } from './exchange.ts';
import type { InFlight } from './in-flight.ts';
import { limits } from './limits.ts';
import { problemReply } from './problem-reply.ts';
import { readHead, type RequestHead, type TransportFacts } from './request.ts';
import { RequestContext } from './request-context.ts';
import type { FixedReply, Reply } from './response.ts';
import type { Handler, Match, Route, Router } from './router.ts';
import { sendFixed } from './send-reply.ts';
import type { StallWatch } from './stall-watch.ts';
import { sendStream } from './stream-reply.ts';
import type { UwsRequest, UwsResponse } from './uws.ts';

const requestsInFlightMax = 20_000;

export interface RequestServerDeps extends TransportFacts {
  readonly router: Router;
  readonly log: Logger;
  readonly accessLog: AccessLog;
  readonly budget: BodyBudget;
  readonly watch: StallWatch;
  readonly inFlight: InFlight;
  readonly observe: (route: string, record: AccessRecord) => void;
}

/**
 * Serves one request, from its head to its access-log line:
 *
 *   copy head ─▶ match ─▶ refuse (503 draining or crowded, 400, 413) ─▶ handler ─▶ reply or problem ─▶ report
 *                  └▶ 404, 405, OPTIONS: own handlers        └▶ client gone: signal, report 499
 */
export class RequestServer {
  readonly #deps: RequestServerDeps;
  #draining = false;

  constructor(deps: RequestServerDeps) {
    this.#deps = deps;
  }

  drain(): void {
    this.#draining = true;
  }

  serve(res: UwsResponse, req: UwsRequest): void {
    const { router, inFlight } = this.#deps;
    const head = readHead(res, req, this.#deps);
    const match = router.match(head.method, head.path);
    // A request is in flight until its answer is complete and its handler has returned.
    inFlight.begin();
    let parts = 2;
    const partDone = (): void => {
      if (--parts === 0) inFlight.end();
    };
    const span = beginSpan(head, match);
    const exchange = this.#open(res, head, match, partDone, span);
    const refused = this.#refusal(exchange, match);
    if (refused !== undefined) {
      dropBody(exchange);
      this.#fail(exchange, refused);
      return partDone();
    }
    const run = (): Promise<void> | undefined => this.#run(exchange, match);
    const running = span === undefined ? run() : span.within(run);
    if (running === undefined) partDone();
    else void running.then(partDone);
  }

  #open(
    res: UwsResponse,
    head: RequestHead,
    match: Match,
    onReported: () => void,
    span: RequestSpan | undefined,
  ): Exchange {
    const { accessLog, observe } = this.#deps;
    const startedMs = performance.now();
    const { name: route, problemForm } = match.kind === 'route' ? match.route : { name: match.kind };
    const changes = changingRoute(match) !== undefined;
    const body = this.#openBody(res, head, match, {
      onExcess: () => exchange.abort(413),
      onLast: () => (changes || exchange.isLast) && exchange.hold(),
      pause: () => exchange.pauseBody(),
      resume: () => exchange.resumeBody(),
    });
    const report = ({ status, bytesSent }: Outcome): void => {
      const latencyMs = performance.now() - startedMs;
      const bytesReceived = body?.received() ?? 0;
      const { method, rawPath: path, ip, port } = head;
      const record = { status, latencyMs, method, path, ip, port, bytesSent, bytesReceived };
      accessLog.write(record);
      observe(route, record);
      span?.end(status);
      onReported();
    };
    const exchange = new Exchange(res, head, body, report, problemForm);
    return exchange;
  }

  #openBody(
    res: UwsResponse,
    { announcedBody: announcement }: RequestHead,
    match: Match,
    connection: Pick<BodyReceiverOptions, 'onExcess' | 'onLast' | 'pause' | 'resume'>,
  ): BodyReceiver | undefined {
    if (announcement.kind === 'none') return undefined;
    const body = new BodyReceiver({
      announcement,
      maxBytes: match.kind === 'route' ? (match.route.body?.maxBytes ?? 0) : 0,
      budget: this.#deps.budget,
      ...connection,
    });
    res.onData((chunk, isLast) => body.data(chunk, isLast));
    return body;
  }

  #refusal({ head, hasTrailer }: Exchange, match: Match): Problem | undefined {
    const { announcedBody: announced } = head;
    if (this.#draining) {
      return new Problem('unavailable', 'The server is shutting down.', {
        retryAfterSeconds: 1,
        headers: { Connection: 'close' },
      });
    }
    if (this.#deps.inFlight.count > requestsInFlightMax) {
      return new Problem('unavailable', 'Too many requests are in progress.', { retryAfterSeconds: 1 });
    }
    if (announced.kind === 'invalid') {
      return new Problem('malformed', 'Content-Length is repeated or invalid.');
    }
    if (announced.kind === 'chunked' && !announced.isPlain) {
      return new Problem('malformed', 'Transfer-Encoding must be "chunked".');
    }
    if (hasTrailer) {
      return new Problem('malformed', 'Trailers after a chunked body are not supported.');
    }
    if (head.hasSeveralHosts) return new Problem('malformed', 'The request has several Host headers.');
    const takesBody = match.kind === 'route' && match.route.body !== undefined;
    if (!takesBody && announced.kind === 'sized' && announced.bytes > limits.ignoredBodyBytesMax) {
      return new Problem('too_large', 'This resource accepts no request body.');
    }
    return undefined;
  }

  /**
   * A change runs only when its request is whole and nothing follows on the connection (`Exchange.hold`); a read uses
   * `Exchange.holdRead`.
   */
  #run(exchange: Exchange, match: Match): Promise<void> | undefined {
    const onReply = (answer: Reply): void => {
      dropBody(exchange);
      this.#reply(exchange, answer);
    };
    const onError = (error: unknown): void => {
      dropBody(exchange);
      this.#fail(exchange, error);
    };
    try {
      const parameters = match.kind === 'route' ? match.parameters : {};
      const handle = (): Promise<Reply> | Reply => handlerOf(match)(new RequestContext(exchange, parameters));
      const whole = wholeBefore(exchange, changingRoute(match));
      const outcome = whole === undefined ? handle() : whole.then(handle);
      if (outcome instanceof Promise) {
        if (whole === undefined && changingRoute(match) === undefined) exchange.holdRead();
        return outcome.then(onReply, onError);
      }
      onReply(outcome);
    } catch (error) {
      onError(error);
    }
    return undefined;
  }

  #reply(exchange: Exchange, answer: Reply): void {
    try {
      if ('stream' in answer) {
        sendStream(exchange, answer, {
          watch: this.#deps.watch,
          onEarlyFailure: (error) => this.#fail(exchange, error),
          onLateFailure: (error) => this.#logBroken(exchange, error, 'A stream broke off'),
        });
      } else {
        this.#send(exchange, answer);
      }
    } catch (error) {
      if ('stream' in answer) answer.stream.destroy();
      this.#fail(exchange, error);
    }
  }

  #fail(exchange: Exchange, error: unknown): void {
    const { log } = this.#deps;
    const { requestId } = exchange.head;
    if (!exchange.open()) {
      log.debug(
        { request_id: requestId, ...errorFacts(error) },
        'A request failed after its client disconnected',
      );
      return;
    }
    try {
      this.#send(exchange, problemReply(error, exchange.head, log, exchange.problemForm));
    } catch (unsayable) {
      // Without an answer the client would wait for ever.
      this.#logBroken(exchange, unsayable, 'An error answer could not be written');
      exchange.abort(500);
    }
  }

  #send(exchange: Exchange, answer: FixedReply): void {
    sendFixed(exchange, answer, this.#deps.watch)?.catch((error: unknown) => {
      this.#logBroken(exchange, error, 'An answer broke off');
      exchange.abort(500);
    });
  }

  #logBroken({ head }: Exchange, error: unknown, words: string): void {
    this.#deps.log.error({ request_id: head.requestId, ...errorFacts(error) }, words);
  }
}

function beginSpan({ headers }: RequestHead, match: Match): RequestSpan | undefined {
  const tracer = requestTracer();
  if (tracer === undefined) return undefined;
  const parent = headers.get('traceparent');
  if (match.kind !== 'route') return tracer.begin(match.kind, {}, parent);
  const { method, path } = match.route;
  const attributes = { 'http.request.method': method, 'http.route': path };
  return tracer.begin(`${method} ${path}`, attributes, parent);
}

function changingRoute(match: Match): Route | undefined {
  return match.kind === 'route' && match.route.method !== 'GET' ? match.route : undefined;
}

/** When the library has processed the bytes after a change's request. A handler of large bodies waits for the body itself. */
function wholeBefore(exchange: Exchange, route: Route | undefined): Promise<void> | undefined {
  if (route === undefined || (route.body?.maxBytes ?? 0) > limits.unreadBodyBytesMax) return undefined;
  if (exchange.body === undefined) exchange.hold();
  const whole = exchange.body === undefined ? nextTurn() : exchange.body.ended();
  return whole.then(() => {
    if (!exchange.open()) throw new Error('the client disconnected before its request was executed');
  });
}

/** The handler of a match, or the router's own answer (contract: Errors). */
function handlerOf(match: Match): Handler {
  switch (match.kind) {
    case 'route':
      return match.route.handler;
    case 'options':
      return () => ({ status: 204, headers: { Allow: match.allow } });
    case 'other_method':
      return ({ head }) => {
        throw new Problem(
          'method_not_allowed',
          `The method ${head.method.slice(0, 32)} is not allowed here.`,
          { headers: { Allow: match.allow } },
        );
      };
    case 'unknown_path':
      return () => {
        throw new Problem('not_found', 'No resource has this path.');
      };
    default:
      return match satisfies never;
  }
}

function dropBody({ body }: Exchange): void {
  body?.discard(limits.ignoredBodyBytesMax);
  body?.release();
}
