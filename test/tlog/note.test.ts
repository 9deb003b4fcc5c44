import { strict as assert } from 'node:assert';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parseCheckpoint } from '../../src/tlog/checkpoint.ts';
import { encodeEntry, entryAt, entryBytes, fromBundle, hasExpired, toBundle } from '../../src/tlog/entry.ts';
import {
  createSigner,
  NoteError,
  parseNote,
  parseVerifierKey,
  publicKeyIn,
  parseSeed,
  signerKey,
  signedNote,
  verifierKeyFor,
  verifyNote,
} from '../../src/tlog/note.ts';

/** The example of the specification of signed notes. */
const example = {
  key: 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
  note: 'This is an example message.\n\n\u2014 example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n',
};
const seed = Buffer.alloc(32, 7);
const otherSeed = Buffer.alloc(32, 9);

describe('signed notes', () => {
  test('the example of the specification verifies, and nothing that was changed', () => {
    const known = [parseVerifierKey(example.key)];
    verifyNote(parseNote(example.note), known);
    const changed = parseNote(example.note.replace('example message', 'example massage'));
    assert.throws(() => verifyNote(changed, known), /is not one of its key 530d903a/);
    assert.throws(() => parseVerifierKey(example.key.replace('foo', 'bar')), /does not have its own id/);
  });

  test('a signature verifies with its key, beside unknown ones', () => {
    const signer = createSigner('service/1', seed);
    const [line = ''] = parseNote(example.note).signatures.map((one) => one.line);
    const texts = fc.array(fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/\p{Cc}/gu, '')));
    fc.assert(
      fc.property(texts, (lines) => {
        const text = `${lines.join('\n')}\n`;
        const own = parseNote(signer.sign(text)).signatures.map((one) => one.line);
        const note = parseNote(signedNote(text, [line, ...own]));
        assert.equal(note.text, text);
        verifyNote(note, [parseVerifierKey(signer.verifierKey)]);
      }),
    );
    const other = parseVerifierKey(createSigner('service/1', otherSeed).verifierKey);
    assert.throws(() => verifyNote(parseNote(signer.sign('text\n')), [other]), /none of the known keys/);
    const publicKey = publicKeyIn(signer.verifierKey);
    assert.equal(verifierKeyFor('service/2', publicKey), createSigner('service/2', seed).verifierKey);
    assert.deepEqual(parseSeed(`${signerKey('service', seed)}\n`), seed);
    assert.equal(parseSeed(signerKey('service', seed).replace('service', 'other')), undefined);
  });

  test('anything else is no note and no checkpoint', () => {
    for (const wrong of [
      '',
      'text\n',
      'text\n\n',
      'text\n\n\u2014 name\n',
      'text\n\n- name AAAAAAA=\n',
      'a\tb\n\n\u2014 n AAAAAAA=\n',
    ])
      assert.throws(() => parseNote(wrong), NoteError, JSON.stringify(wrong));
    const root = Buffer.alloc(32).toString('base64');
    const signer = createSigner('o', seed);
    assert.equal(parseCheckpoint(signer.sign(`o\n12\n${root}\n`)).size, 12);
    for (const text of [
      `o\n012\n${root}\n`,
      `o\n-1\n${root}\n`,
      `\n1\n${root}\n`,
      'o\n1\nAA==\n',
      'o\n1\n',
      `o\n1\n${root}\n\nx\n`,
    ])
      assert.throws(() => parseCheckpoint(signer.sign(text)), NoteError, JSON.stringify(text));
  });
});

describe('entries', () => {
  test('are as documented, one by one and in bundles', () => {
    const eventHash = Buffer.alloc(32, 0xab);
    const bytes = encodeEntry({
      seq: 0x0102030405060708n,
      time: -2,
      expires: 65_535,
      own: false,
      eventHash,
    });
    assert.equal(bytes.toString('hex'), `0102030405060708fffffffffffffffe0000ffff00${'ab'.repeat(32)}`);
    const two = Buffer.concat([
      bytes,
      encodeEntry({ seq: 9n, time: 1, expires: 20_000, own: true, eventHash }),
    ]);
    assert.deepEqual(entryAt(two, 1), { seq: 9n, time: 1, expires: 20_000, own: true, eventHash });
    const bundle = toBundle(two);
    assert.equal(bundle.length, 2 * (entryBytes + 2));
    assert.equal(bundle.readUInt16BE(55), 53);
    assert.deepEqual(fromBundle(bundle), two);
    assert.throws(() => fromBundle(bundle.subarray(1)), RangeError);
    const day = 86_400_000_000;
    assert.deepEqual(
      [19_999, 20_000].map((days) => hasExpired(entryAt(two, 1), days * day)),
      [false, true],
    );
    assert.equal(hasExpired(entryAt(two, 0), Number.MAX_SAFE_INTEGER), false);
  });
});
