import type { BodyReceiver } from './body.ts';
import type { ProblemForm, RequestHead } from './request.ts';
import type { UwsResponse } from './uws.ts';

const clientLookMs = 1_000;

/** Access-log status if the client left before the answer was complete. */
export const clientGoneStatus = 499;

export interface Outcome {
  readonly status: number;
  readonly bytesSent: number;
}

/**
 * `res` may be used only while `open()`: an abort or the last byte of the answer frees it.
 *
 *     open ──finish(status)──▶ finished        open ──client gone / abort(status)──▶ gone, signal aborted
 */
export class Exchange {
  readonly res: UwsResponse;
  readonly head: RequestHead;
  readonly body: BodyReceiver | undefined;
  /** Because its body is chunked: the library takes a trailer for a request and accepts wrongly framed chunks. */
  readonly isLast: boolean;
  /** Its body must not be read to the end. */
  readonly hasTrailer: boolean;
  /** Undefined: problem documents. */
  readonly problemForm: ProblemForm | undefined;
  readonly #report: (outcome: Outcome) => void;
  readonly #onGone: (() => void)[] = [];
  readonly #onFinished: (() => void)[] = [];
  #state: 'open' | 'finished' | 'gone' = 'open';
  #bytesSent = 0;
  #goneStatus = clientGoneStatus;
  #isHeld = false;
  #isAnswered = false;
  #looks: NodeJS.Timeout | undefined;
  #controller: AbortController | undefined;

  constructor(
    res: UwsResponse,
    head: RequestHead,
    body: BodyReceiver | undefined,
    report: (outcome: Outcome) => void,
    problemForm?: ProblemForm,
  ) {
    this.res = res;
    this.head = head;
    this.isLast = head.announcedBody.kind === 'chunked';
    this.hasTrailer = this.isLast && head.headers.has('trailer');
    this.body = body;
    this.#report = report;
    this.problemForm = problemForm;
    res.onAborted(() => this.#gone());
  }

  open(): boolean {
    return this.#state === 'open';
  }

  finish(outcome: Outcome): void {
    if (this.#state !== 'open') return;
    this.#state = 'finished';
    clearInterval(this.#looks);
    for (const callback of this.#onFinished) callback();
    this.#report(outcome);
  }

  abort(status: number): void {
    if (this.#state !== 'open') return;
    this.#goneStatus = status;
    this.res.close();
  }

  /**
   * Stops reading until `letGo`, just before the answer: if the library reads another request before, it closes the connection,
   * and the client would not know whether its request was executed.
   */
  hold(): void {
    if (this.#state !== 'open' || (this.#isAnswered && !this.isLast)) return;
    this.#isHeld = true;
    this.res.pause();
  }

  /**
   * A client that shut down its sending side (`nc -N`) still waits, but looks like one that left; so the connection is read once
   * a second.
   */
  holdRead(): void {
    if (this.#state !== 'open' || this.isLast || this.body !== undefined) return;
    this.#isHeld = true;
    this.res.pause();
    this.#looks ??= setInterval(() => this.#look(), clientLookMs);
  }

  letGo(): void {
    this.#isAnswered = true;
    clearInterval(this.#looks);
    this.#looks = undefined;
    if (!this.#isHeld || this.isLast || this.#state !== 'open') return;
    this.#isHeld = false;
    this.res.resume();
  }

  /**
   * The socket did not accept a whole write. The library then reads again by itself and waits until the socket is writable; `pause`
   * and `resume` would end that wait, so the rest of the answer would come only with the next nudge (`StallWatch`).
   */
  partlyWritten(): void {
    this.#isAnswered = true;
    this.#isHeld = false;
    clearInterval(this.#looks);
    this.#looks = undefined;
  }

  pauseBody(): void {
    this.res.pause();
  }

  resumeBody(): void {
    if (!this.#isHeld && this.#state === 'open') this.res.resume();
  }

  sent(bytes: number): void {
    this.#bytesSent = bytes;
  }

  /** Runs if the exchange ends without a complete answer; at once if it already has. */
  onGone(callback: () => void): void {
    if (this.#state === 'gone') callback();
    else this.#onGone.push(callback);
  }

  /** Runs when the exchange ends; at once if it already has. */
  onClosed(callback: () => void): void {
    if (this.#state !== 'open') return callback();
    this.#onGone.push(callback);
    this.#onFinished.push(callback);
  }

  signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#state === 'gone') this.#controller.abort();
    return this.#controller.signal;
  }

  /** Reads for one turn of the event loop, in which the library notices that the client left. */
  #look(): void {
    this.res.resume();
    setImmediate(() => {
      // Pausing also stops the library's idle clock, which starts when it reads again.
      if (this.#state === 'open' && this.#looks !== undefined) this.res.pause();
    });
  }

  #gone(): void {
    if (this.#state !== 'open') return;
    this.#state = 'gone';
    // The library refused bytes after a chunked body, such as a trailer, as a request.
    if (this.isLast && this.body?.isEnding() === true) this.#goneStatus = 400;
    clearInterval(this.#looks);
    this.body?.aborted();
    this.#controller?.abort();
    for (const callback of this.#onGone) callback();
    this.#report({ status: this.#goneStatus, bytesSent: this.#bytesSent });
  }
}
