/** Finds the ends of HTTP/1.1 responses in received bytes, without keeping their bodies; `onBody` sees their pieces. */
export interface ResponseReader {
  /** Adds received bytes; calls `onResponse` for each complete response. */
  take(bytes: Buffer): void;
}

type State = 'head' | 'sized' | 'chunkLine' | 'chunkData' | 'trailer';

const newline = 10;

export function createResponseReader(
  onResponse: (status: number, bodyBytes: number) => void,
  onBody: (piece: Buffer) => void = () => undefined,
): ResponseReader {
  let state: State = 'head';
  let text = '';
  let status = 0;
  let left = 0;
  let bodyBytes = 0;

  function finish(): void {
    state = 'head';
    text = '';
    onResponse(status, bodyBytes);
  }

  /** Adds bytes up to the end of a line (or of the head); returns the position behind them. */
  function head(bytes: Buffer, from: number): number {
    // The end may span two pieces, so the search covers the text so far.
    const before = text.length;
    text += bytes.toString('latin1', from, Math.min(bytes.length, from + 4096));
    const end = text.indexOf('\r\n\r\n', Math.max(0, before - 3));
    if (end === -1) return Math.min(bytes.length, from + 4096);
    status = Number(text.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end));
    const chunked = /\r\ntransfer-encoding: *chunked/i.test(text.slice(0, end));
    const next = from + end + 4 - before;
    bodyBytes = 0;
    text = '';
    if (chunked) state = 'chunkLine';
    else {
      left = Number(length?.[1] ?? 0);
      if (left === 0) finish();
      else state = 'sized';
    }
    return next;
  }

  function line(bytes: Buffer, from: number): number {
    const end = bytes.indexOf(newline, from);
    if (end === -1) {
      text += bytes.toString('latin1', from, bytes.length);
      return bytes.length;
    }
    text += bytes.toString('latin1', from, end);
    if (state === 'trailer') {
      if (text.trim() === '') finish();
      text = '';
    } else if (text.trim() !== '') {
      left = Number.parseInt(text, 16);
      state = left === 0 ? 'trailer' : 'chunkData';
      text = '';
    } else {
      // The line break that ends the chunk before.
      text = '';
    }
    return end + 1;
  }

  function data(bytes: Buffer, from: number): number {
    const size = Math.min(left, bytes.length - from);
    left -= size;
    bodyBytes += size;
    onBody(bytes.subarray(from, from + size));
    if (left === 0) {
      if (state === 'sized') finish();
      else state = 'chunkLine';
    }
    return from + size;
  }

  return {
    take(bytes) {
      let at = 0;
      while (at < bytes.length) {
        if (state === 'head') at = head(bytes, at);
        else if (state === 'sized' || state === 'chunkData') at = data(bytes, at);
        else at = line(bytes, at);
      }
    },
  };
}
