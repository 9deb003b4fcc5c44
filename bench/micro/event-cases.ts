import { createBlockBuilder } from '../../src/ingest/native-block.ts';
import { parseRfc3339Micros } from '../../src/base/timestamp.ts';
import { createFieldsRenderer, type RenderedFields } from '../../src/ocsf/render.ts';
import { createValidator } from '../../src/ocsf/source-event.ts';
import { mapAll, newMapper, texts } from './events.ts';
import type { MicroCase } from './measure.ts';

/** What happens to a source event in a worker, step by step. */

function parseAndPrint(all: readonly string[]): number {
  let length = 0;
  for (const text of all) length += JSON.stringify(JSON.parse(text)).length;
  return length;
}

function mapping(): MicroCase {
  const map = newMapper();
  return {
    title: 'source event to row: scan, validate, redact, map, render',
    unit: 'events',
    units: texts.length,
    run: () => mapAll(map, texts),
    reference: { name: 'JSON.parse and JSON.stringify of the same text', run: () => parseAndPrint(texts) },
  };
}

function validation(): MicroCase {
  const validator = createValidator();
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

function rendering(): MicroCase {
  const render = createFieldsRenderer();
  const fields = mapAll(newMapper(), texts).map(({ ocsf }): RenderedFields => {
    const event = JSON.parse(`{${ocsf.replace(/,"metadata":\{.*$/s, '')}}`) as RenderedFields & {
      enrichments?: unknown;
      extra_map?: unknown;
    };
    const { enrichments: _enrichments, extra_map: _extra, ...rendered } = event;
    return rendered;
  });
  return {
    title: 'audit event to JSON',
    unit: 'events',
    units: texts.length,
    run: () => {
      let length = 0;
      for (const one of fields) length += render(one).length;
      return length;
    },
    reference: {
      name: 'JSON.stringify of the same object',
      run: () => {
        let length = 0;
        for (const one of fields) length += JSON.stringify(one).length;
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
  const map = newMapper();
  const secret = texts.map((text) =>
    text.replace('"extra":{', '"extra":{"Password":"hunter2","auth":{"token":"abc","user":"zoe"},'),
  );
  return {
    title: 'source event with secrets to row',
    unit: 'events',
    units: secret.length,
    run: () => mapAll(map, secret),
    reference: {
      name: 'JSON.parse and JSON.stringify of the same text, which hide nothing',
      run: () => parseAndPrint(secret),
    },
  };
}

function nativeBlock(): MicroCase {
  const rows = mapAll(newMapper(), texts);
  const builder = createBlockBuilder();
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
        for (const row of rows) at += target.write(JSON.stringify(row), at);
        return at;
      },
    },
  };
}

export const eventCases = {
  'micro.map': mapping,
  'micro.validate': validation,
  'micro.render': rendering,
  'micro.timestamp': timestamps,
  'micro.redact': redaction,
  'micro.native': nativeBlock,
};
