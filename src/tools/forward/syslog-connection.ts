import { setTimeout as sleep } from 'node:timers/promises';
import type { Socket } from 'node:net';
import { AuditlogError } from '../../client/client.ts';
import { errorCode } from '../../base/errors/system-error.ts';
import { type TcpEnds, tcpEnds, type TcpFacts, tcpFacts } from './tcp-table.ts';

/** Interval of checks whether the receiver's system has accepted a batch. */
const forwardSyslogLookMs = 10;

const closedEarly = (): AuditlogError =>
  new AuditlogError('network', 'no delivery: the receiver closed the connection before it read everything');

/**
 * Delivers one batch on its own connection. The protocol has no acknowledgement, and systems buffer bytes that no
 * program reads, so the order in which the two sides close decides:
 *
 *     this side               receiver
 *     all bytes        →      its system acknowledges them: only then this side closes
 *     close            →      reads to the end
 *                      ←      closes; the system here reports the acknowledged close, and no reset
 *
 * If the receiver closes first, it may have read anything: nothing counts as delivered.
 */
export class SyslogConnection {
  readonly #socket: Socket;
  readonly #ending: AbortSignal;
  readonly #broken: Promise<never>;
  readonly #otherEnd: Promise<void>;
  #isOtherEnded = false;

  constructor(socket: Socket, receiver: string, ending: AbortSignal) {
    this.#socket = socket;
    this.#ending = ending;
    this.#broken = new Promise((_, reject) => {
      socket.once('error', (error) => reject(toFailure(error, receiver)));
      socket.once('close', () => reject(closedEarly()));
      const abort = () => reject(ending.reason as AuditlogError);
      if (ending.aborted) abort();
      ending.addEventListener('abort', abort, { once: true });
    });
    this.#broken.catch(() => undefined);
    this.#otherEnd = new Promise((resolve) => {
      socket.once('end', () => {
        this.#isOtherEnded = true;
        resolve();
      });
    });
    // Answers are ignored, but must be read to see the end.
    socket.resume();
  }

  /** Resolves when the receiver has read everything. */
  async deliver(frames: Buffer): Promise<void> {
    await this.#unlessBroken(
      new Promise<void>((resolve) => void this.#socket.write(frames, () => resolve())),
    );
    const ends = tcpEnds(this.#socket);
    const isKnown = ends !== undefined && (await tcpFacts(ends)) !== undefined;
    if (isKnown) await this.#unlessBroken(this.#untilTaken(ends));
    if (this.#isOtherEnded) throw closedEarly();
    this.#socket.end();
    await this.#unlessBroken(this.#otherEnd);
    if (isKnown) await this.#until(ends, ({ isEndTaken }) => isEndTaken);
  }

  /** Checks twice, as a receiver that closes on receipt does so between the checks. */
  async #untilTaken(ends: TcpEnds): Promise<void> {
    const isTaken = ({ unacknowledged }: TcpFacts) => unacknowledged === 0 || this.#isOtherEnded;
    await this.#until(ends, isTaken);
    await sleep(forwardSyslogLookMs, undefined, { signal: this.#ending });
    await this.#until(ends, isTaken);
  }

  /** Rejects if the receiver reset the connection. */
  async #until(ends: TcpEnds, holds: (facts: TcpFacts) => boolean): Promise<void> {
    for (;;) {
      const facts = await tcpFacts(ends);
      if (facts === undefined) throw closedEarly();
      if (holds(facts)) return;
      this.#ending.throwIfAborted();
      await sleep(forwardSyslogLookMs);
    }
  }

  #unlessBroken<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#broken]);
  }
}

function toFailure(error: unknown, receiver: string): AuditlogError {
  const code = errorCode(error) ?? 'the connection failed';
  return new AuditlogError('network', `no delivery to ${receiver}: ${code}`, { cause: error });
}
