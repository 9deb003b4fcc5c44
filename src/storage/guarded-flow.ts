import type { ByteFlow, ByteSink } from '../base/byte-flow.ts';
import { limits } from './limits.ts';
import { exceptionInTail } from './response-body.ts';

export interface FlowSource {
  resume(): void;
  destroy(): void;
}

/** The side of a flow that the answer is put into. */
export interface GuardedFlow {
  readonly flow: ByteFlow;
  readonly sink: ByteSink;
  /** The tag of the answer, by which its exception is known. */
  tagged(tag: string | undefined): void;
}

/**
 * The body of an answer, made honest: it ends only when the whole result has been received, and every failure is
 * told as one. The last bytes are held back until more follow or the end is known to be clean, so the words of an
 * exception never reach the reader of the rows.
 *
 *     engine ──▶ tail (the last engineTailBytes, a copy) ──▶ sink
 */
export function createGuardedFlow(source: FlowSource): GuardedFlow {
  let tag: string | undefined;
  let target: ByteSink | undefined;
  /** What came before anybody took it: what one read gave, at most. */
  let early: Uint8Array[] = [];
  let outcome: { readonly error: Error | undefined } | undefined;
  let closed = false;
  const closedCallbacks: (() => void)[] = [];
  const tail = Buffer.allocUnsafe(limits.engineTailBytes);
  let tailBytes = 0;

  const hand = (piece: Uint8Array): boolean => {
    if (closed || piece.length === 0) return true;
    if (target !== undefined) return target.data(piece);
    early.push(Uint8Array.from(piece));
    return false;
  };
  const close = (): void => {
    if (closed) return;
    closed = true;
    for (const callback of closedCallbacks) callback();
  };
  /** Tells the sink how it ended, once there is one and it has all bytes. */
  const settle = (): void => {
    if (target === undefined || outcome === undefined || closed) return;
    const { error } = outcome;
    if (error === undefined) target.end();
    else target.failed(error);
    close();
  };

  const sink: ByteSink = {
    data(piece) {
      if (closed) return true;
      const whole = tailBytes + piece.length;
      if (whole <= tail.length) {
        tail.set(piece, tailBytes);
        tailBytes = whole;
        return true;
      }
      if (piece.length >= tail.length) {
        const wanted = hand(tail.subarray(0, tailBytes));
        const goes = piece.length - tail.length;
        const wantsMore = hand(piece.subarray(0, goes)) && wanted;
        tail.set(piece.subarray(goes));
        tailBytes = tail.length;
        return wantsMore;
      }
      const goes = whole - tail.length;
      const wanted = hand(tail.subarray(0, goes));
      tail.copyWithin(0, goes, tailBytes);
      tail.set(piece, tailBytes - goes);
      tailBytes = tail.length;
      return wanted;
    },
    end() {
      if (closed) return;
      const last = tail.subarray(0, tailBytes);
      const error = exceptionInTail(last, tag);
      if (error === undefined) hand(last);
      outcome = { error };
      settle();
    },
    failed(failure) {
      if (closed) return;
      outcome = { error: exceptionInTail(tail.subarray(0, tailBytes), tag) ?? failure };
      settle();
    },
  };
  const flow: ByteFlow = {
    to(taker) {
      target = taker;
      const pieces = early;
      early = [];
      let wanted = true;
      for (const piece of pieces) wanted = taker.data(piece) && wanted;
      settle();
      if (wanted) source.resume();
    },
    resume: () => source.resume(),
    destroy() {
      if (closed) return;
      source.destroy();
      close();
    },
    onClosed(callback) {
      if (closed) callback();
      else closedCallbacks.push(callback);
    },
  };
  return { flow, sink, tagged: (given) => void (tag = given) };
}
