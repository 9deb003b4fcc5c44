import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ByteSink,
  Arena,
  OutOfRoom,
  putInteger,
  putFolded,
  putQuoted,
  putRange,
  putText,
} from '../../src/ocsf/byte-sink.ts';
import { toWindow } from '../../src/ocsf/byte-text.ts';
import { viewOf } from '../../src/ocsf/json-cursor.ts';
import { Redaction } from '../../src/ocsf/redact.ts';
import { Renderer } from '../../src/ocsf/render.ts';
import { SourceReading, readSource } from '../../src/ocsf/source-fields.ts';

const letters = Buffer.from('"A\\Bcdefghijklmnop"ÄİȺ');
const neighbour = 0xee;

/** The content that each function writes, and its length. */
const puts: readonly (readonly [name: string, bytes: number, put: (sink: ByteSink) => void])[] = [
  ['a range that is short', 5, (sink) => putRange(sink, 4, 9)],
  ['a range that is long', 14, (sink) => putRange(sink, 4, 18)],
  ['text', 6, (sink) => putText(sink, 'abcdef')],
  ['an integer', 4, (sink) => putInteger(sink, 1000)],
  ['a negative integer', 17, (sink) => putInteger(sink, -(2 ** 53 - 1))],
  ['a quoted quote', 2, (sink) => putQuoted(sink, 0, 1)],
  ['ASCII that is folded', 4, (sink) => putFolded(sink, { bytes: sink.bytes, start: 1, end: 5 })],
  ['letters that grow', 8, (sink) => putFolded(sink, { bytes: sink.bytes, start: 19, end: letters.length })],
];

test('no sink is written past its end, and what fits is put', () => {
  for (const [name, needed, put] of puts) {
    for (let room = 0; room <= needed; room++) {
      const bytes = new Uint8Array(128).fill(neighbour);
      bytes.set(letters);
      const sink: ByteSink = { bytes, view: viewOf(bytes), length: 64, end: 64 + room };
      if (room < needed) assert.throws(() => put(sink), OutOfRoom, name);
      else put(sink);
      assert.equal(sink.length, room < needed ? 64 : 64 + room, name);
      assert.ok(
        bytes.subarray(64 + room).every((byte) => byte === neighbour),
        `${name}: beyond ${room} bytes`,
      );
      assert.deepEqual(Buffer.from(bytes.subarray(0, letters.length)), letters);
    }
  }
});

test('a rendering that does not fit is an error at every length short of it, and alters nothing beyond', () => {
  const text = `{"time":0,"msg":"m","message":{"action":-12,"actor":"Ä","extra":{"a":["\\\\"],"otp":"1"},"remote":{"port":7}}}`;
  const { bytes, text: byteText } = toWindow(text);
  const renderer = new Renderer('App');
  const arena = new Arena(renderer.constants);
  arena.open(bytes, 0, bytes.length, renderer.bytesMax(bytes.length));
  const reading = new SourceReading(new Redaction(['otp']));
  assert.equal(readSource(reading, arena, byteText, 0), undefined);
  const { rendered } = arena;
  const noFlow = { bytes, start: 0, end: 0 };
  const row = {
    timeMicros: 0,
    activityId: -12,
    severity: 'High',
    status: 'Failure',
    flowId: noFlow,
  } as const;
  const start = rendered.length;
  renderer.render(rendered, reading, row, 'Activity -12');
  const whole = rendered.length - start;
  for (let room = 0; room < whole; room++) {
    rendered.length = start;
    rendered.end = start + room;
    arena.bytes.fill(neighbour, start, start + whole + 64);
    assert.throws(() => renderer.render(rendered, reading, row, 'Activity -12'), OutOfRoom);
    assert.ok(arena.bytes.subarray(start + room, start + whole + 64).every((byte) => byte === neighbour));
  }
});
