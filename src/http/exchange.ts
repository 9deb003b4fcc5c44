import type { BodyReceiver } from './body.ts';
import type { RequestHead } from './request.ts';
import type { UwsResponse } from './uws.ts';

/** Status in the access log and the metrics of a request whose client went away before its answer was complete. */
export const clientGoneStatus = 499;

/** How an exchange ended, for the access log. Bytes are body bytes on the wire. */
export interface Outcome {
  readonly status: number;
  readonly bytesSent: number;
}

/**
 * One request and its answer. `res` may be touched only while `open()`: the library ends it with the abort and with
 * the last byte of the answer.
 *
 *   open ──finish(status)──▶ closed        open ──client gone / abort(status)──▶ closed, signal aborted
 */
export interface Exchange {
  readonly res: UwsResponse;
  readonly head: RequestHead;
  readonly body: BodyReceiver | undefined;
  open(): boolean;
  /** The answer is complete; reports it. */
  finish(outcome: Outcome): void;
  /** Breaks the connection without a clean end and reports this status. */
  abort(status: number): void;
  /** Body bytes handed to the socket so far, reported should the client go away. */
  sent(bytes: number): void;
  /** Runs when the exchange closes without a complete answer; at once when it has. */
  onGone(callback: () => void): void;
  /** Runs when the exchange closes in any way; at once when it has. */
  onClosed(callback: () => void): void;
  /** Fires when the client goes away; made on first use. */
  signal(): AbortSignal;
}

export interface ExchangeOptions {
  readonly res: UwsResponse;
  readonly head: RequestHead;
  readonly body: BodyReceiver | undefined;
  readonly report: (outcome: Outcome) => void;
}

export function openExchange({ res, head, body, report }: ExchangeOptions): Exchange {
  let state: 'open' | 'finished' | 'gone' = 'open';
  let bytesSent = 0;
  let goneStatus = clientGoneStatus;
  let controller: AbortController | undefined;
  const goneCallbacks: (() => void)[] = [];
  const finishedCallbacks: (() => void)[] = [];

  res.onAborted(() => {
    if (state !== 'open') return;
    state = 'gone';
    body?.aborted();
    controller?.abort();
    for (const callback of goneCallbacks) callback();
    report({ status: goneStatus, bytesSent });
  });
  return {
    res,
    head,
    body,
    open: () => state === 'open',
    finish(outcome) {
      if (state !== 'open') return;
      state = 'finished';
      for (const callback of finishedCallbacks) callback();
      report(outcome);
    },
    abort(status) {
      if (state !== 'open') return;
      goneStatus = status;
      res.close();
    },
    sent(bytes) {
      bytesSent = bytes;
    },
    onGone(callback) {
      if (state === 'gone') callback();
      else goneCallbacks.push(callback);
    },
    onClosed(callback) {
      if (state === 'open') {
        goneCallbacks.push(callback);
        finishedCallbacks.push(callback);
      } else callback();
    },
    signal() {
      controller ??= new AbortController();
      if (state === 'gone') controller.abort();
      return controller.signal;
    },
  };
}
