import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EngineError } from '../../src/base/errors/engine-error.ts';
import {
  damagedPartIn,
  exceptionInTail,
  operatorWords,
  refusal,
  shortMessage,
} from '../../src/storage/exception.ts';
import { limits } from '../../src/storage/limits.ts';

const tag = 'abcdefghijklmnop';

const folder = '/data/engine/store/1b9/1b97a050-d0cf-49cd-ab1d-344f10f799e5/202405_3_31_2';

/** As the engine words them, shortened, with the part that is damaged. */
const damaged: readonly (readonly [number, string])[] = [
  [
    40,
    `Checksum doesn't match: corrupted data. Size: 868. ${'x'.repeat(2000)} (while reading from part ${folder}/ in`,
  ],
  [
    33,
    `Cannot read all data. Bytes read: 11926. Bytes expected: 86897: While reading ${folder}/data.bin (position: 1)`,
  ],
  [107, `Cannot open file ${folder}/data.bin: , errno: 2, strerror: No such file or directory`],
  [246, `Empty marks file '${folder}/data.cmrk4': 0, must be: 12600`],
  [
    1001,
    `std::exception. filesystem error: in file_size: No such file or directory ["${folder}/data.cmrk4"]`,
  ],
  [271, 'Cannot decompress. (while reading column time): While reading part 202405_3_31_2.'],
];

test('the part that is damaged is known, however far behind its name stands', () => {
  for (const [code, words] of damaged) {
    assert.equal(damagedPartIn(code, words), '202405_3_31_2', words.slice(0, 60));
    const error = refusal(
      500,
      String(code),
      `Code: ${code}. DB::Exception: ${words}. (SOME_ERROR) (version 26.7)`,
    );
    assert.deepEqual([error.engineCode, error.damagedPart], [code, '202405_3_31_2']);
  }
});

test('the name of a part with the version of a mutation, and of a control table', () => {
  assert.equal(
    damagedPartIn(107, 'Cannot open file /d/store/1/202611_1_9_2_12/data.bin:'),
    '202611_1_9_2_12',
  );
  assert.equal(
    damagedPartIn(40, '(while reading from part /d/store/1/all_1_1_0/ in table audit.users'),
    'all_1_1_0',
  );
});

test('other failures are no damage: other codes, and connections cut short, where no part is named', () => {
  assert.equal(damagedPartIn(241, `Memory limit exceeded: (while reading from part ${folder}/)`), undefined);
  assert.equal(damagedPartIn(33, 'Cannot read all data. Bytes read: 0. Bytes expected: 8.'), undefined);
  assert.equal(damagedPartIn(undefined, `While reading part ${folder}/`), undefined);
  assert.equal(refusal(502, undefined, 'Bad Gateway').damagedPart, undefined);
});

test('an answer of bytes that are no text is worded plainly, with the part where it is named', () => {
  const bytes = Buffer.concat([
    Buffer.from([0x82, 0xf0, 0x01, 0, 7, 0xff]),
    Buffer.from(`Code: 40 ${folder}/data.bin `),
  ]);
  const error = refusal(500, '40', bytes.toString('utf8'));
  assert.match(error.message, /^a file of the engine is damaged \(error 40\); run "auditlog doctor"/);
  assert.deepEqual([error.engineCode, error.damagedPart], [40, '202405_3_31_2']);
  assert.equal(
    refusal(500, '241', '\u0000\u0001').message,
    'the engine rejected a statement (error 241) without a message',
  );
  assert.equal(shortMessage('a\u0000\ufffd\u001b b\n'), 'a b');
});

test('words that look like an exception are rows when the tag is another', () => {
  const text = Buffer.from('\r\n__exception__\r\nponmlkjihgfedcba\r\nCode: 1. DB::Exception: x\n');
  assert.equal(exceptionInTail(text, tag), undefined);
  assert.equal(exceptionInTail(text, undefined), undefined);
  assert.equal(exceptionInTail(text, ''), undefined);
});

test('refusals have the number and the words of the innermost exception, on one bounded line', () => {
  const plain =
    "Code: 60. DB::Exception: Unknown table expression identifier 'x'. (UNKNOWN_TABLE) (version 26.5)";
  const wrapped = `Code: 57. DB::Exception: There was an error on [host:9000]: ${plain}. (UNKNOWN_TABLE) (version 26.5)`;
  for (const text of [plain, wrapped]) {
    const error = refusal(404, '60', text);
    assert.equal(error.failure, 'refused');
    assert.equal(error.message, "UNKNOWN_TABLE Unknown table expression identifier 'x'.");
  }
  assert.equal(refusal(404, '60', plain).engineCode, 60);
  assert.equal(refusal(500, '241', 'no words').engineCode, 241);
  const proxy = refusal(502, undefined, '<html>Bad Gateway</html>');
  assert.deepEqual([proxy.failure, proxy.engineCode], ['unreachable', undefined]);
  assert.equal(shortMessage('  a\n\tb '), 'a b');
  assert.equal(shortMessage('x'.repeat(5000)).length, limits.engineErrorCharactersMax + 1);
});

test('whoever ran a command is told what is wrong and what to do, in no words of the engine', () => {
  const text = (code: number, words: string): string =>
    `Code: ${code}. DB::Exception: ${words}. (SOME_ERROR) (version 26.7)`;
  const of = (code: number, words: string): string =>
    operatorWords(refusal(500, String(code), text(code, words)));
  const damage = `Checksum doesn't match: (while reading from part ${folder}/ in table audit.evidence_tiles (90e1)`;
  assert.equal(
    of(40, damage),
    'part 202405_3_31_2 of the table evidence_tiles is damaged; run "auditlog doctor"',
  );
  assert.match(
    of(432, 'Unknown codec family code: 216'),
    /^a file of the engine is damaged \(error 432\); run "auditlog d/,
  );
  assert.match(
    of(241, 'Memory limit exceeded'),
    /^the engine has too little memory for this; .* \(error 241\)$/,
  );
  assert.match(
    of(60, "Unknown table 'x'"),
    /^the engine rejected a statement \(error 60\); run "auditlog doctor"; LOG/,
  );
  const cut = exceptionInTail(Buffer.from(`\r\n__exception__\r\n${tag}\r\nno number`), tag);
  assert.match(operatorWords(cut), /^the engine rejected a statement \(error 0\)/);
  assert.equal(operatorWords(refusal(502, undefined, '<html>')), 'the engine does not answer: status 502');
  assert.match(
    operatorWords(new EngineError('timeout', 'no answer within 5 ms')),
    /^no answer within 5 ms: .*doctor/,
  );
});
