import type { BodyReceiver } from './body.ts';
import type { ProblemForm, RequestHead } from './request.ts';
import type { UwsResponse } from './uws.ts';

/** Time between looks whether the client of a read has left; one that has only stopped sending is answered within it. */
const clientLookMs = 1_000;

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
 *   open ──finish(status)──▶ finished        open ──client gone / abort(status)──▶ gone, signal aborted
 */
export class Exchange {
  readonly res: UwsResponse;
  readonly head: RequestHead;
  readonly body: BodyReceiver | undefined;
  /**
   * It is the last one of its connection: behind a body in chunks the library takes a trailer for a request, and believes
   * chunks that do not end where they say. So nothing is read behind one, and the connection ends with the answer.
   */
  readonly isLast: boolean;
  /** It has announced a trailer, so its body must not be read to the end. */
  readonly hasTrailer: boolean;
  /** How its errors are worded; undefined: as usual. */
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

  /** `report` is called once, when the exchange ends. */
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

  /** The answer is complete. */
  finish(outcome: Outcome): void {
    if (this.#state !== 'open') return;
    this.#state = 'finished';
    clearInterval(this.#looks);
    for (const callback of this.#onFinished) callback();
    this.#report(outcome);
  }

  /** Breaks the connection without a clean end and reports this status. */
  abort(status: number): void {
    if (this.#state !== 'open') return;
    this.#goneStatus = status;
    this.res.close();
  }

  /**
   * Nothing more is read from the connection until `letGo`, just before the answer is sent. The library closes a
   * connection on which it reads a request behind one that is not answered: by then that one may have been carried
   * out, and its client would never know. Behind the last exchange of a connection it stays so.
   */
  hold(): void {
    if (this.#state !== 'open' || (this.#isAnswered && !this.isLast)) return;
    this.#isHeld = true;
    this.res.pause();
  }

  /**
   * As `hold`, for a read. The library closes a connection whose client has shut down its sending side (`nc -N`), though
   * that client waits for its answer. A client that has left looks the same, so the connection is read once a second.
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

  /** Stops reading a body that nobody has asked for yet. */
  pauseBody(): void {
    this.res.pause();
  }

  resumeBody(): void {
    if (!this.#isHeld && this.#state === 'open') this.res.resume();
  }

  /** Body bytes handed to the socket so far, reported should the client go away. */
  sent(bytes: number): void {
    this.#bytesSent = bytes;
  }

  /** Runs when the exchange closes without a complete answer; at once when it has. */
  onGone(callback: () => void): void {
    if (this.#state === 'gone') callback();
    else this.#onGone.push(callback);
  }

  /** Runs when the exchange closes in any way; at once when it has. */
  onClosed(callback: () => void): void {
    if (this.#state !== 'open') return callback();
    this.#onGone.push(callback);
    this.#onFinished.push(callback);
  }

  /** Fires when the client goes away; made on first use. */
  signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#state === 'gone') this.#controller.abort();
    return this.#controller.signal;
  }

  /** One turn of the event loop, in which the library sees that the client has left. */
  #look(): void {
    this.res.resume();
    setImmediate(() => {
      // To pause also ends the library's idle time, which begins when it reads on.
      if (this.#state === 'open' && this.#looks !== undefined) this.res.pause();
    });
  }

  #gone(): void {
    if (this.#state !== 'open') return;
    this.#state = 'gone';
    // The library took what stands behind a body in chunks, such as a trailer, for a request, and refused it.
    if (this.isLast && this.body?.isEnding() === true) this.#goneStatus = 400;
    clearInterval(this.#looks);
    this.body?.aborted();
    this.#controller?.abort();
    for (const callback of this.#onGone) callback();
    this.#report({ status: this.#goneStatus, bytesSent: this.#bytesSent });
  }
}
