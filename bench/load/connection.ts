import { connect, type Socket } from 'node:net';
import type { Target } from './job.ts';
import { createResponseReader } from './response-reader.ts';

/** One keep-alive connection that has at most one request on its way. */
export interface Connection {
  /** Calls `done` with the status and the body's size; status 0 if the connection broke. */
  send(parts: readonly Buffer[], done: (status: number, bodyBytes: number) => void): void;
  close(): void;
}

const receiveBytes = 256 * 1024;

/**
 * Bare sockets, as Node's HTTP client costs several times as much per request, which would distort the measurement.
 */
export function createConnection({ host, port }: Target, onBody?: (piece: Buffer) => void): Connection {
  let socket: Socket | undefined;
  let waiting: ((status: number, bodyBytes: number) => void) | undefined;

  function answer(status: number, bodyBytes: number): void {
    const done = waiting;
    waiting = undefined;
    done?.(status, bodyBytes);
  }

  function open(): Socket {
    const reader = createResponseReader(answer, onBody);
    const buffer = Buffer.allocUnsafeSlow(receiveBytes);
    const opened = connect({
      host,
      port,
      noDelay: true,
      onread: {
        buffer,
        callback(length) {
          reader.take(buffer.subarray(0, length));
          return true;
        },
      },
    });
    const gone = (): void => {
      if (socket === opened) {
        socket = undefined;
        answer(0, 0);
      }
    };
    opened.on('error', gone);
    opened.on('close', gone);
    return opened;
  }

  return {
    send(parts, done) {
      waiting = done;
      socket ??= open();
      if (parts.length > 1) socket.cork();
      for (const part of parts) socket.write(part);
      if (parts.length > 1) socket.uncork();
    },
    close() {
      const closing = socket;
      socket = undefined;
      closing?.destroy();
    },
  };
}
