import { decompress } from 'fzstd';
import { BlockBuilder } from '../../src/ingest/native-block.ts';
import { compressZstd, decompressZstd, loadZstd } from '../../src/base/bytes/zstd.ts';
import { parseRfc3339Micros } from '../../src/base/time/timestamp.ts';
import type { MappedEvent } from '../../src/ocsf/audit-event.ts';
import { Arena } from '../../src/ocsf/byte-sink.ts';
import { toWindow } from '../../src/ocsf/byte-text.ts';
import { makeRedaction } from '../../src/ocsf/redact.ts';
import { Renderer } from '../../src/ocsf/render.ts';
import { SourceValidator } from '../../src/ocsf/source-event.ts';
import { SourceReading, readSource } from '../../src/ocsf/source-fields.ts';
import { mapEach, newMapper, rowsOf, textOf, texts, windows } from './events.ts';
import type { MicroCase } from './measure.ts';

/** A worker's steps for a source event. */

function parseAndPrint(all: readonly string[]): number {
  let length = 0;
  for (const text of all) length += JSON.stringify(JSON.parse(text)).length;
  return length;
}

function mapping(): MicroCase {
  const mapper = newMapper();
  return {
    title: 'source event to row: scan, validate, redact, map, render',
    unit: 'events',
    units: texts.length,
    run: () => mapEach(mapper, windows),
    reference: { name: 'JSON.parse and JSON.stringify of the same text', run: () => parseAndPrint(texts) },
  };
}

function validation(): MicroCase {
  const validator = new SourceValidator();
  const events = texts.map((text): unknown => JSON.parse(text));
  return {
    title: 'validation of a source event by its schema',
    unit: 'events',
    units: texts.length,
    run: () => {
      for (const event of events) if (!validator.isValid(event)) throw new Error(validator.describe());
    },
    reference: {
      name: 'JSON.parse of the same text',
      run: () => {
        for (const text of texts) JSON.parse(text);
      },
    },
  };
}

/** Read events, each in its own arena, for repeated rendering. */
function readEvents() {
  const renderer = new Renderer('Audit Log Service');
  return windows.map(({ text, bytes }, index) => {
    const reading = new SourceReading(makeRedaction({ redactKeys: [] }));
    const arena = new Arena(renderer.constants);
    arena.open(bytes, 0, bytes.length, renderer.bytesMax(bytes.length));
    const fault = readSource(reading, arena, text, 0);
    if (fault !== undefined) throw new Error(`event ${index} of the bench is refused: ${fault}`);
    const start = arena.rendered.length;
    return { renderer, reading, arena, start };
  });
}

function rendering(): MicroCase {
  const events = readEvents();
  const rows = rowsOf(windows);
  const objects = rows.map(({ ocsf }): unknown =>
    JSON.parse(`{${textOf(ocsf).replace(/,"metadata":\{.*$/s, '')}}`),
  );
  return {
    title: 'audit event to JSON',
    unit: 'events',
    units: events.length,
    run: () => {
      let length = 0;
      for (const [index, { renderer, reading, arena, start }] of events.entries()) {
        arena.rendered.length = start;
        renderer.render(arena.rendered, reading, rows[index] as MappedEvent, 'Activity');
        length += arena.rendered.length - start;
      }
      return length;
    },
    reference: {
      name: 'JSON.stringify of the same event',
      run: () => {
        let length = 0;
        for (const one of objects) length += JSON.stringify(one).length;
        return length;
      },
    },
  };
}

function timestamps(): MicroCase {
  const instants = texts.map((text) => /"timestamp":"([^"]+)"/.exec(text)?.[1] ?? '');
  return {
    title: 'RFC 3339 to microseconds',
    unit: 'timestamps',
    units: instants.length * 10,
    run: () => {
      let sum = 0;
      for (let turn = 0; turn < 10; turn += 1)
        for (const instant of instants) sum += parseRfc3339Micros(instant) ?? 0;
      return sum;
    },
    reference: {
      name: 'Date.parse',
      run: () => {
        let sum = 0;
        for (let turn = 0; turn < 10; turn += 1) for (const instant of instants) sum += Date.parse(instant);
        return sum;
      },
    },
  };
}

function redaction(): MicroCase {
  const mapper = newMapper();
  const secret = texts.map((text) =>
    text.replace('"extra":{', '"extra":{"Password":"hunter2","auth":{"token":"abc","user":"zoe"},'),
  );
  const secretWindows = secret.map(toWindow);
  return {
    title: 'source event with secrets to row',
    unit: 'events',
    units: secret.length,
    run: () => mapEach(mapper, secretWindows),
    reference: {
      name: 'JSON.parse and JSON.stringify of the same text, which hide nothing',
      run: () => parseAndPrint(secret),
    },
  };
}

function nativeBlock(): MicroCase {
  const rows = rowsOf(windows);
  const plain = rows.map((row) => ({ ...row, ocsf: textOf(row.ocsf), source: textOf(row.source) }));
  const builder = new BlockBuilder();
  const target = Buffer.alloc(4 * 1024 * 1024);
  return {
    title: 'rows to a Native block',
    unit: 'events',
    units: rows.length,
    run: () => {
      for (const row of rows) builder.add(row);
      return builder.finish(target, 0);
    },
    reference: {
      name: 'JSON.stringify of the same rows into a buffer',
      run: () => {
        let at = 0;
        for (const row of plain) at += target.write(JSON.stringify(row), at);
        return at;
      },
    },
  };
}

async function zstdBody(): Promise<MicroCase> {
  const body = Buffer.from(texts.join('\n'));
  await loadZstd();
  // Not a Buffer, as the reference would make many slow slices of it.
  const compressed = new Uint8Array(compressZstd(body, 3));
  return {
    title: 'zstd body to its text',
    unit: 'events',
    units: texts.length,
    run: () => decompressZstd(compressed, body.length),
    reference: { name: 'fzstd', run: () => decompress(compressed, new Uint8Array(body.length)) },
  };
}

export const eventCases = {
  'micro.zstd': zstdBody,
  'micro.map': mapping,
  'micro.validate': validation,
  'micro.render': rendering,
  'micro.timestamp': timestamps,
  'micro.redact': redaction,
  'micro.native': nativeBlock,
};
