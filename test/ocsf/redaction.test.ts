import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { limits } from '../../src/ocsf/limits.ts';
import { Mapper } from '../../src/ocsf/audit-event.ts';
import { toWindow } from '../../src/ocsf/byte-text.ts';
import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';
import { type Redaction, makeRedaction } from '../../src/ocsf/redact.ts';
import { eventText } from '../fuzz/arbitrary.ts';
import { expectedOf, hiddenNames, shapedSecrets } from '../fuzz/model.ts';
import { meaning, parseTree } from '../fuzz/tree.ts';
import { decoded, mapText, organization, type Row } from './arbitrary.ts';
import { rounds } from '../support/rounds.ts';

const appName = 'Test "App"';
const names = { vendorName: 'Vendor', productName: 'Product "P"' };
const tail = eventTail(names);

/** Maps stored events, which are redacted already. */
const again = new Mapper({ appName });

/** The stored source event gives the same row again. */
function mapAgain(row: Row): void {
  const window = toWindow(row.source);
  const made = again.mapStored(window, 0, window.text.length, organization);
  assert.deepEqual(typeof made === 'string' ? made : decoded(made), row);
}

/** A mapper, and a model of its results. */
function pairOf(redactKeys: string) {
  const keys = redactKeys === '' ? [] : redactKeys.split(',');
  const mapper = new Mapper({ appName, redaction: makeRedaction({ redactKeys: keys }) });
  const options = { hides: hiddenNames(redactKeys), appName, ...names };
  const rowOf = (text: string): Row => {
    const row = mapText(mapper, text);
    if (typeof row === 'string') assert.fail(`${row}\n${text}`);
    return row;
  };
  return {
    rowOf,
    check(text: string): void {
      const row = rowOf(text);
      const expected = expectedOf(parseTree(text), options);
      assert.equal(row.source, expected.source);
      mapAgain(row);
      const audit = `${eventHead}${row.ocsf}"logged_time":1${tail}`.replace('"logged_time":1,', '');
      assert.equal(meaning(parseTree(audit)), meaning(parseTree(expected.audit)));
      assert.equal(row.timeMicros, expected.micros);
    },
  };
}

const standard = pairOf('');
const least = (extra: string): string =>
  `{"message":{"timestamp":"2024-05-06T07:08:09Z","action":2001,"target":"ÄRGER","extra":${extra}}}`;

test('a value shorter than what replaces it: the event stays whole, in both renderings', () => {
  for (const extra of [
    '{"otp":"123456"}',
    '{"password":"x"}',
    '{"token":1,"a":"b"}',
    '{"otp":"","pwd":{},"secret":[],"a":{"otp":7,"b":[{"otp":8}]},"z":"end"}',
    `{${Array.from({ length: 500 }, () => '"otp":1').join(',')}}`,
    `{"a":[${Array.from({ length: 500 }, () => '{"otp":1}').join(',')}]}`,
  ]) {
    standard.check(least(extra));
  }
});

/** An event of about this size with many equal items. */
function filled(bytes: number, item: string, open: string, close: string): string {
  const room = bytes - Buffer.byteLength(least(open + close)) - item.length;
  return least(`${open}${`${item},`.repeat(Math.floor(room / (item.length + 1)))}${item}${close}`);
}

test('the worst growth that a name can have, up to the largest event', () => {
  const { check, rowOf } = pairOf('x');
  for (const [item, open, close] of [
    ['"x":1', '{', '}'],
    ['{"x":1}', '{"a":[', ']}'],
    ['"x":1', '{"a":{', '}}'],
    ['{"key":"x","value":1}', '{"a":[', ']}'],
    ['"":1', '{', '}'],
    ['""', '{"a":[', ']}'],
    ['"\\\\"', '{"a":[', ']}'],
  ] as const) {
    check(filled(8_000, item, open, close));
  }
  const distinct = Array.from({ length: 700 }, (_, n) => `"${'-'.repeat(n % 30)}x${'.'.repeat(n / 30)}":1`);
  check(least(`{${distinct.join(',')}}`));
  const { source } = rowOf(filled(limits.eventBytesMax, '"x":1', '{', '}'));
  assert.ok(source.length > limits.eventBytesMax * 2.8 && source.endsWith('"x":"[redacted]"}}}'));
});

test('lower case longer than the sent text stays within its room', () => {
  for (const letter of ['\u0130', '\u023a']) {
    const name = letter.repeat(9_000);
    // With an escape, the text is stored without it, and also in lower case.
    const text = `{"message":{"timestamp":0,"action":1,"actor":{"id":"\\n${name}","email":"X"}}}`;
    const row = standard.rowOf(text);
    assert.deepEqual([row.actorId, row.actorEmail], [`\n${name.toLowerCase()}`, 'x']);
    standard.check(text);
  }
});

test('names are secrets in any case, with spaces, underscores, hyphens and dots anywhere', () => {
  for (const name of [
    'X-API-Key',
    'set_cookie',
    ' pass word',
    '-otp.',
    'Recovery Codes',
    'id.Token',
    '\\u0070wd',
    'pass\\tword',
    'pass\u00a0word',
    'pass\u200bword',
    '\u2060to\u00adken\ufeff',
    '\\u0070assword',
  ]) {
    const { source, ocsf } = standard.rowOf(least(`{"${name}":"hunter2"}`));
    assert.ok(!source.includes('hunter2') && !ocsf.includes('hunter2'), name);
  }
  for (const name of ['passwords', 'tokenizer', 'x', '_', 'cookies', 'pass:word']) {
    assert.ok(standard.rowOf(least(`{"${name}":"kept"}`)).source.includes('"kept"'), name);
  }
});

test('true, false and null stay: they only say whether there is a secret', () => {
  const extra = '{"password":true,"token":false,"otp":null,"list":[{"name":"cookie","value":null}]}';
  assert.ok(standard.rowOf(least(extra)).source.includes(extra));
});

test('of a pair, the value of a secret name goes, whichever comes first', () => {
  const shown = (extra: string): string => {
    standard.check(least(extra));
    return /"extra":(.*)\}\}$/.exec(standard.rowOf(least(extra)).source)?.[1] ?? '';
  };
  for (const [sent, stored] of [
    ['{"h":[{"name":"Authorization","value":"x"}]}', '{"h":[{"name":"Authorization","value":"[redacted]"}]}'],
    ['{"h":[{"value":"x","name":"Set-Cookie"}]}', '{"h":[{"value":"[redacted]","name":"Set-Cookie"}]}'],
    [
      '{"h":[{"value":[1, 2],"a":1,"key":"o\\u0074p"}]}',
      '{"h":[{"value":"[redacted]","a":1,"key":"o\\u0074p"}]}',
    ],
    ['{"h":[ [{"val\\u0075e":1,"key":"pwd"}] ]}', '{"h":[[{"val\\u0075e":"[redacted]","key":"pwd"}]]}'],
    [
      '{"h":[{"value":{"a":[{"value":1,"name":"otp"}]},"name":"plain"},{"name":"user","value":"zoe"}]}',
      '{"h":[{"value":{"a":[{"value":"[redacted]","name":"otp"}]},"name":"plain"},{"name":"user","value":"zoe"}]}',
    ],
    ['{"h":{"Name":"otp","VALUE":"x"}}', '{"h":{"Name":"otp","VALUE":"[redacted]"}}'],
    ['{"h":[{"name":["otp"],"value":"kept"}]}', '{"h":[{"name":["otp"],"value":"kept"}]}'],
    [
      '{"h":[{"value":1,"value":2,"name":"otp","name":"x"}]}',
      '{"h":[{"value":"[redacted]","value":"[redacted]","name":"otp","name":"x"}]}',
    ],
  ] as const) {
    assert.equal(shown(sent), stored);
  }
});

test('ten thousand pairs within each other and beside each other take no longer than their bytes', () => {
  const deep = `${'[{"value":'.repeat(60)}1${',"name":"otp"}]'.repeat(60)}`;
  standard.check(least(`{"a":${deep}}`));
  standard.check(
    least(`{"a":[${Array.from({ length: 10_000 }, () => '{"value": 1,"name":"otp"}').join(',')}]}`),
  );
});

test('REDACT_KEYS adds names and, after a !, takes one out', () => {
  const { rowOf, check } = pairOf('I-Ban,!Token,Ärger');
  const extra = '{"IBAN":"gone","token":"kept","access_token":"gone","ä.rger":"gone"}';
  check(least(extra));
  assert.ok(rowOf(least(extra)).source.includes('"token":"kept"'));
  assert.ok(!rowOf(least(extra)).source.includes('gone'));
});

test('configured names may be of any length and letters', () => {
  const long = 'k'.repeat(100);
  const redaction = makeRedaction({ redactKeys: ['İd', 'ÄÖ', long, 'Key'] });
  const eventOf = (names: readonly string[], value: string) => ({
    time: 0,
    message: { action: 1, extra: Object.fromEntries(names.map((name) => [name, value])) },
  });
  const hidden = ['İd', 'i\u0307D', 'äö', 'ÄÖ', long.toUpperCase(), 'KEY', '\u212aey'];
  const { source } = stored(eventOf(hidden, 'gone'), redaction);
  assert.ok(!source.includes('gone'), source);
  const kept = eventOf(['id', 'ao', 'k', `${long}k`, 'keys'], 'kept');
  assert.equal(stored(kept, redaction).source, JSON.stringify(kept));
});

/** The stored event. */
function stored(event: object, redaction: Redaction): { source: string; ocsf: string } {
  const row = mapText(new Mapper({ appName, redaction }), JSON.stringify(event));
  if (typeof row === 'string') assert.fail(row);
  return row;
}

const always = makeRedaction({ redactKeys: [] });

test('a secret is redacted at every place of unknown members: event, message, actor and target', () => {
  const secrets = {
    password: 'hunter2',
    sessionToken: ['hunter2'],
    deep: [{ ACCESS_TOKEN: { a: 'hunter2' } }],
    header: { Key: 'Authorization', Value: 'hunter2' },
  };
  const hidden = {
    password: '[redacted]',
    sessionToken: '[redacted]',
    deep: [{ ACCESS_TOKEN: '[redacted]' }],
    header: { Key: 'Authorization', Value: '[redacted]' },
  };
  const event = (unknown: object) => ({
    time: 0,
    message: {
      action: { code: 1, ...unknown },
      actor: { email: 'a@b.c', user: unknown, ...unknown },
      target: { ...unknown, name: 'password', value: unknown === hidden ? '[redacted]' : 'hunter2' },
      result: { code: 200, ...unknown },
      ...unknown,
    },
    ...unknown,
  });
  const { source, ocsf } = stored(event(secrets), always);
  assert.deepEqual(JSON.parse(source), event(hidden));
  assert.ok(!ocsf.includes('hunter2'));
});

test('configured names are not for the fields of the contract', () => {
  const event = { time: 0, msg: 'm', message: { action: 1, actor: { name: 'Zoë', x: { name: 'x' } } } };
  const { source } = stored(event, makeRedaction({ redactKeys: ['name', 'message', 'time', 'action'] }));
  event.message.actor.x.name = '[redacted]';
  assert.deepEqual(JSON.parse(source), event);
});

test('secrets of known shape are redacted in any text', () => {
  for (const secret of shapedSecrets) {
    for (const around of ['', ' ', '/', '"', '\n', 'é', '(', ',', ':', '\\', '\u0001', '\u2028']) {
      for (const lead of ['', 'Bearer ', 'x'.repeat(15), `${'y'.repeat(40)} `]) {
        const text = (middle: string) =>
          `${lead === '' ? '' : `${lead}${around} `}${around}${middle}${around}`;
        const event = (middle: string) => ({
          time: 0,
          msg: text(middle),
          message: {
            action: 1,
            actor: text(middle),
            extra: { fileHash: text(middle), a: [text(middle), { b: text(middle) }] },
          },
        });
        const { source, ocsf } = stored(event(secret), always);
        assert.deepEqual(JSON.parse(source), event('[redacted]'));
        assert.ok(!ocsf.includes(secret.slice(0, 24)), ocsf);
      }
    }
  }
});

test('a secret is found in any spelling of its letters', () => {
  const [token = ''] = shapedSecrets;
  for (let at = 0; at < token.length; at++) {
    const unit = token.charCodeAt(at).toString(16).padStart(4, '0');
    for (const spelled of [unit, unit.toUpperCase()]) {
      const text = `${token.slice(0, at)}\\u${spelled}${token.slice(at + 1)}`;
      assert.ok(
        standard.rowOf(least(`{"a":"say \\u0022${text}"}`)).source.includes('{"a":"say \\"[redacted]"}'),
        text,
      );
    }
  }
  for (const secret of shapedSecrets) {
    const text = JSON.stringify(secret).replaceAll(' ', '\\u0020');
    assert.ok(standard.rowOf(least(`{"a":${text}}`)).source.includes('{"a":"[redacted]"}'), text);
  }
});

test('what only looks like a secret stays: ids, hashes, file names, cursors, parts of words', () => {
  const [, access = '', github = '', , slack = '', own = ''] = shapedSecrets;
  for (const text of [
    '0b5e2a34-9a66-4a6f-8f5d-2f4f7f6f9a01',
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    'eyJvZmZzZXQiOjEwMCwibGltaXQiOjEwfQ',
    'eyJvZmZzZXQiOjEwMCwibGltaXQiOjEwfQ.report.pdf',
    'akia-fjord-2024-10.tar.gz',
    'ghost_in_the_shell_1995_remastered.mkv',
    'ghp_templates/overview-of-quarter.xlsx',
    'xoxo-gossip',
    own.slice(0, 19),
    own.slice(0, -1),
    `x${access}`,
    `${access}0`,
    `x_${github}`,
    `my-${slack}`,
    '-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n-----END CERTIFICATE-----',
    '-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEabcdefghijkl\n-----END PUBLIC KEY-----',
    'C:\\Users\\akia\\eyJ.txt',
  ]) {
    const event = {
      time: 0,
      msg: text,
      message: { action: 1, sender: { file: text, hash: text }, extra: { [text]: text } },
    };
    assert.equal(stored(event, always).source, JSON.stringify(event));
  }
});

test('REDACT_VALUES=off keeps values of any shape, and still redacts names', () => {
  const off = makeRedaction({ redactKeys: [], redactValues: false });
  for (const secret of shapedSecrets) {
    const event = { time: 0, msg: secret, message: { action: 1, extra: { a: secret, password: secret } } };
    const { source } = stored(event, off);
    assert.deepEqual(JSON.parse(source), {
      ...event,
      message: { action: 1, extra: { a: secret, password: '[redacted]' } },
    });
  }
});

test('a text of nothing but beginnings of secrets takes no longer than its bytes', () => {
  for (const item of [
    'eyJ',
    'eyJ.',
    'eyJhbGciOiJIUzI1NiJ9.',
    '-----BEGIN PRIVATE KEY-----',
    '-----BEGIN ',
    'AKIA ',
    'xoxb-',
    'ak_',
  ]) {
    const text = item.repeat(Math.floor(1_000_000 / item.length));
    const begun = process.cpuUsage();
    stored({ time: 0, msg: text, message: { action: 1 } }, always);
    const { user } = process.cpuUsage(begun);
    assert.ok(user < 5_000_000, `${item}: ${user} µs`);
  }
});

const plan = { fromMicros: 1_700_000_000_000_000, lengthMicros: 3_600_000_000 };

test('any event with secrets anywhere is stored and shown as the model has it', () => {
  fc.assert(
    fc.property(eventText(plan), (text) => standard.check(text)),
    { numRuns: rounds(450, 1500) },
  );
});

test('the same with configured names', () => {
  const { check } = pairOf('region,fileName,value,name,!otp,!cookie');
  fc.assert(
    fc.property(eventText(plan), (text) => check(text)),
    { numRuns: rounds(150, 500) },
  );
});
