import { Problem } from '../base/errors/problem.ts';
import { type OtlpForm, readExport } from '../adapters/otlp/export.ts';
import { limits } from './limits.ts';
import { TooManyElements } from './split-body.ts';

/**
 * Writes the records of an export request into `room` as lines of JSON, each with its resource and scope, so
 * that a small body can become a large one. Throws Problem `malformed` or `too_large`, or TooManyElements.
 */
export function otlpLines(body: Buffer, form: OtlpForm, room: Buffer): Buffer {
  let length = 0;
  let elements = 0;
  readExport(body, form, {
    element() {
      elements += 1;
      if (elements > limits.batchEventsMax) throw new TooManyElements();
    },
    record(text) {
      const line = `${text}\n`;
      if (length + Buffer.byteLength(line) > room.length) throw tooLarge(room.length);
      length += room.write(line, length);
    },
  });
  return room.subarray(0, length);
}

function tooLarge(bytes: number): Problem {
  return new Problem(
    'too_large',
    `The log records, each with its resource and scope, are larger than ${bytes} bytes; send fewer at once.`,
  );
}
