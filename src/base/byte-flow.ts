import { finished, Readable } from 'node:stream';

/** Where bytes go. After `end` or `failed` it hears nothing more. */
export interface ByteSink {
  /** The bytes are good only during the call. False asks for a pause until `resume`; a little more may still come. */
  data(piece: Uint8Array): boolean;
  end(): void;
  failed(error: Error): void;
}

/**
 * Bytes that are being made, at the pace of whoever takes them. Unlike a stream it lends its bytes instead of giving
 * them away, so that hundreds of megabytes a second can pass through one buffer.
 */
export interface ByteFlow {
  /** Begins to hand out, to one sink. */
  to(sink: ByteSink): void;
  resume(): void;
  /** Ends what makes the bytes; the sink hears nothing more. */
  destroy(): void;
  /** Runs once the flow has ended in any way; at once where it has. */
  onClosed(callback: () => void): void;
}

/** The same flow, handed out by another `to`. */
export function flowWith(flow: ByteFlow, to: ByteFlow['to']): ByteFlow {
  return {
    to,
    resume: () => flow.resume(),
    destroy: () => flow.destroy(),
    onClosed: (callback) => flow.onClosed(callback),
  };
}

/** The flow as a stream, each piece in memory of its own. Destroying the stream destroys the flow. */
export function toReadable(flow: ByteFlow): Readable {
  let begun = false;
  const readable = new Readable({
    highWaterMark: 256 * 1024,
    read() {
      if (begun) return flow.resume();
      begun = true;
      flow.to({
        data: (piece) => readable.push(Buffer.from(piece)),
        end: () => void readable.push(null),
        failed: (error) => void readable.destroy(error),
      });
    },
    destroy(error, done) {
      flow.destroy();
      done(error);
    },
  });
  return readable;
}

/** A stream of bytes as a flow. One that is destroyed before its end has failed. */
export function fromReadable(stream: Readable): ByteFlow {
  let destroyed = false;
  // Nobody else listens for errors before it is taken, or once it has been given up.
  stream.on('error', () => {});
  return {
    to(sink) {
      stream.on('data', (piece: Uint8Array) => {
        if (!destroyed && !sink.data(piece)) stream.pause();
      });
      finished(stream, { writable: false }, (error) => {
        if (destroyed) return;
        if (error) sink.failed(error);
        else sink.end();
      });
    },
    resume: () => void stream.resume(),
    destroy() {
      destroyed = true;
      stream.destroy();
    },
    onClosed(callback) {
      if (stream.closed) callback();
      else stream.once('close', callback);
    },
  };
}

/**
 * The first `bytes` of a flow, or all where it has fewer, and a function that makes a flow of other bytes in their
 * place and the rest. Rejects where the flow fails before.
 */
export function peekFlow(
  flow: ByteFlow,
  bytes: number,
): Promise<{ readonly start: Uint8Array; readonly continueWith: (instead: Uint8Array) => ByteFlow }> {
  return new Promise((resolve, reject) => {
    let held: Uint8Array[] = [];
    let heldBytes = 0;
    let looked = false;
    let target: ByteSink | undefined;
    let outcome: (() => void) | undefined;

    const look = (): void => {
      looked = true;
      const start = Buffer.concat(held);
      held = [];
      resolve({ start, continueWith });
    };
    const continueWith = (instead: Uint8Array): ByteFlow =>
      flowWith(flow, (sink) => {
        target = sink;
        let wanted = true;
        for (const piece of [instead, ...held]) {
          if (piece.length > 0) wanted = sink.data(piece) && wanted;
        }
        held = [];
        outcome?.();
        if (wanted && outcome === undefined) flow.resume();
      });
    flow.to({
      data(piece) {
        if (target !== undefined) return target.data(piece);
        held.push(Uint8Array.from(piece));
        heldBytes += piece.length;
        if (looked || heldBytes < bytes) return !looked;
        look();
        return false;
      },
      end() {
        outcome = () => target?.end();
        if (!looked) look();
        else outcome();
      },
      failed(error) {
        outcome = () => target?.failed(error);
        if (!looked) reject(error);
        else outcome();
      },
    });
  });
}
