import { strict as assert } from 'node:assert';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Problem } from '../../src/base/errors/problem.ts';
import { checkpointFiles, Checkpoints, readTrust } from '../../src/tools/verify/checkpoints.ts';
import { eventLine, readLine } from '../../src/tools/verify/evidence-file.ts';
import { findingAt, contradictionsIn } from '../../src/tools/verify/report.ts';
import { encodeEntry, entryAt, expiryOf, hasExpired } from '../../src/tlog/entry.ts';
import { ErasureHistory } from '../../src/tlog/erasure.ts';
import { EventAudit } from '../../src/tlog/event-audit.ts';
import { leafHash, sha256 } from '../../src/tlog/hash.ts';
import { createSigner, NoteError, verifierKeyFor, publicKeyOfSeed } from '../../src/tlog/note.ts';
import { parseProofText, proofText } from '../../src/tlog/proof-text.ts';
import { RightEdge } from '../../src/tlog/right-edge.ts';
import { TreeAudit } from '../../src/tlog/tree-audit.ts';
import { successionText, Trust } from '../../src/tlog/trust.ts';

const never = 65_535;
const entryOf = (n: number, text = `event ${n}`, expires = never) =>
  encodeEntry({
    seq: BigInt(n * 2 + 10),
    time: n,
    expires,
    own: false,
    eventHash: sha256(Buffer.from(text)),
  });
const entriesOf = (count: number) => Array.from({ length: count }, (_, n) => entryOf(n));

/** Compares in pieces, as the engine is read. */
function audit(tree: readonly Buffer[], events: readonly Buffer[], piece: number, nowMicros = 0) {
  const one = new EventAudit((entry) => hasExpired(entry, nowMicros), new ErasureHistory([]));
  let after = -1n;
  for (let at = 0; at < tree.length; at += piece) {
    const entries = tree.slice(at, at + piece);
    const last = entries.at(-1)?.readBigUInt64BE(0) ?? 0n;
    const there = events.filter(
      (event) => event.readBigUInt64BE(0) > after && event.readBigUInt64BE(0) <= last,
    );
    one.compare(Buffer.concat(entries), Buffer.concat(there));
    after = last;
  }
  return one.findings();
}

test('an entry with any changed bytes is named', () => {
  const bytes = fc.uint8Array({ minLength: 53, maxLength: 53 });
  const root = sha256(Buffer.from('another'));
  const rule = fc.property(bytes, (changed) => {
    const entry = entryAt(Buffer.from(changed), 0);
    const { detail, time } = findingAt('altered', 0, entry, 'differs from the recorded event');
    assert.ok(detail.includes(`${time ?? 'its time is invalid'}, order number ${entry.seq})`));
    assert.match(expiryOf(entry) ?? 'never', /^(never|\d{4}-\d\d-\d\d)$/);
    const tree = new TreeAudit([{ origin: 'log', size: 1, root }]);
    tree.add(Buffer.from(changed));
    assert.equal(contradictionsIn(tree.findings())[0]?.kind, 'contradicted');
  });
  fc.assert(rule, { numRuns: 500 });
});

test('the first difference is named by its position, for any change and any reading', () => {
  const cases = fc.record({
    count: fc.integer({ min: 3, max: 60 }),
    at: fc.nat(),
    piece: fc.integer({ min: 1, max: 70 }),
    kind: fc.constantFrom('altered', 'missing', 'added', 'moved', 'none'),
  });
  const rule = fc.property(cases, ({ count, at, piece, kind }) => {
    const tree = entriesOf(count);
    const events = [...tree];
    const n = at % (count - 1);
    if (kind === 'altered') events[n] = entryOf(n, 'another');
    if (kind === 'missing') events.splice(n, 1);
    if (kind === 'added')
      events.splice(
        n,
        0,
        encodeEntry({
          seq: BigInt(n * 2 + 9),
          time: n,
          expires: never,
          own: false,
          eventHash: sha256(Buffer.from('new')),
        }),
      );
    if (kind === 'moved')
      [events[n], events[count - 1]] = [entryOf(n, `event ${count - 1}`), entryOf(count - 1, `event ${n}`)];
    const { first, counts, same } = audit(tree, events, piece);
    const found = Object.entries(counts).filter(([, times]) => times > 0);
    if (kind === 'none') assert.deepEqual([first, found, same], [undefined, [], count]);
    else {
      assert.deepEqual([first?.kind, first?.position, first?.time], [kind, n, n]);
      assert.deepEqual(found, [[kind, kind === 'moved' ? 2 : 1]]);
    }
  });
  fc.assert(rule, { numRuns: 500 });
});

test('removals by retention differ from losses', () => {
  const day = 86_400_000_000;
  const tree = [entryOf(0, 'a', 100), entryOf(1, 'b', 101), entryOf(2, 'c'), entryOf(3, 'd', 100)];
  const { expired, counts, first } = audit(tree, [tree[3] ?? Buffer.alloc(0)], 2, 100 * day);
  assert.deepEqual([expired, counts.missing, first?.position], [1, 2, 1]);
});

test('entries are compared with every checkpoint on the way', () => {
  const tree = entriesOf(600);
  const headOf = (size: number, entries = tree) => {
    const edge = new RightEdge();
    for (const entry of entries.slice(0, size)) edge.add(leafHash(entry));
    return { origin: 'o', size, root: edge.root() };
  };
  const heads = [100, 256, 300, 600].map((size) => headOf(size));
  const run = (entries: readonly Buffer[]) => {
    const one = new TreeAudit(heads);
    one.add(Buffer.concat(entries));
    const { agreed, differing, beyond, outOfOrder, firstDiffering } = one.findings();
    return [agreed?.size, differing?.size, beyond?.size, outOfOrder, firstDiffering?.time];
  };
  assert.deepEqual(run(tree), [600, undefined, undefined, undefined, undefined]);
  assert.deepEqual(run(tree.with(270, entryOf(270, 'x'))), [256, 300, undefined, undefined, 256]);
  assert.deepEqual(run(tree.slice(0, 299)), [256, undefined, 300, undefined, 256]);
  assert.deepEqual(run(tree.with(0, entryOf(1)).with(1, entryOf(0))), [undefined, 100, undefined, 1, 1]);
});

test('trust in the first key extends to its successors, and to no others', () => {
  const seeds = [1, 2, 3].map((n) => Buffer.alloc(32, n));
  const [first = Buffer.alloc(0), second = Buffer.alloc(0), third = Buffer.alloc(0)] = seeds;
  const keyOf = (seed: Buffer, name = 'service') => verifierKeyFor(name, publicKeyOfSeed(seed));
  const said = (by: Buffer, of: Buffer) => createSigner('service', by).sign(successionText(keyOf(of)));
  const published = (seed: Buffer, statement: string) => ({ publicKey: publicKeyOfSeed(seed), statement });
  const checkpoint = (seed: Buffer) =>
    createSigner('service/1', seed).sign(`service/1\n0\n${Buffer.alloc(32).toString('base64')}\n`);
  const trust = new Trust([keyOf(first, 'service/1')]);
  assert.throws(() => trust.read(checkpoint(third)), NoteError);
  trust.follow('service', [published(first, ''), published(third, said(third, third))]);
  assert.throws(() => trust.read(checkpoint(third)), NoteError);
  trust.follow('service', [published(second, said(first, second)), published(third, said(second, third))]);
  for (const seed of seeds) assert.equal(trust.read(checkpoint(seed)).origin, 'service/1');
  // A service has one key for all its logs; under a log's name it is valid for that log only.
  const ofAnother = {
    name: 'NoteError',
    message: /^the key is one of service\/2, and this is evidence of service\/1/,
  };
  assert.throws(() => new Trust([keyOf(first, 'service/2')]).read(checkpoint(first)), ofAnother);
  assert.equal(new Trust([keyOf(first)]).read(checkpoint(first)).origin, 'service/1');
});

test('a published key is believed if one that was given has signed for it', async () => {
  const [own = Buffer.alloc(0), next = Buffer.alloc(0)] = [1, 2].map((n) => Buffer.alloc(32, n));
  const keyOf = (seed: Buffer) => verifierKeyFor('service/1', publicKeyOfSeed(seed));
  const said = successionText(verifierKeyFor('service', publicKeyOfSeed(next)));
  const checkpoint = createSigner('service/1', next).sign(
    `service/1\n0\n${Buffer.alloc(32).toString('base64')}\n`,
  );
  const directory = await mkdtemp(join(tmpdir(), 'auditlog-keys-'));
  try {
    const published = join(directory, 'keys.json');
    const publish = (by: Buffer) => {
      const statement = createSigner('service', by).sign(said);
      const keys = [{ key: keyOf(own) }, { key: keyOf(next), statement }];
      return writeFile(published, JSON.stringify({ origin: 'service/1', keys }));
    };
    await publish(own);
    assert.equal((await readTrust({ key: [published, keyOf(own)] }))?.read(checkpoint).origin, 'service/1');
    await assert.rejects(readTrust({ key: [published] }), Problem);
    await publish(next);
    const trust = await readTrust({ key: [keyOf(own), published] });
    assert.throws(() => trust?.read(checkpoint), NoteError);
    await writeFile(published, '{"keys"');
    await assert.rejects(readTrust({ key: [keyOf(own), published] }), Problem);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('kept and copied checkpoints are found, and other files named', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'auditlog-checkpoints-'));
  const [organization, key] = ['0190a2b3-4c5d-7e6f-8a9b-0c1d2e3f4a5b', Buffer.alloc(32, 1)];
  try {
    const copied = join(directory, organization, 'checkpoints');
    await mkdir(copied, { recursive: true });
    const none = { code: 'malformed', message: `--checkpoint: ${copied} has no checkpoint` };
    for (const given of [copied, join(directory, organization), directory])
      await assert.rejects(checkpointFiles([given], organization), none);
    const file = join(copied, '1');
    await writeFile(file, 'bla');
    await writeFile(join(directory, organization, 'checkpoint'), '');
    for (const given of [file, copied, join(directory, organization), directory])
      assert.deepEqual(await checkpointFiles([given], organization), [{ path: file, text: 'bla' }]);
    const checkpoints = new Checkpoints(new Trust([verifierKeyFor('o', publicKeyOfSeed(key))]));
    const wrong = { name: 'NoteError', message: `${file}: this is no signed note` };
    assert.throws(() => checkpoints.addFile({ path: file, text: 'bla' }), wrong);
    await assert.rejects(checkpointFiles([directory], 'another'), {
      code: 'malformed',
      message: `--checkpoint: ${join(directory, organization)}: it is a directory`,
    });
    await assert.rejects(readTrust({ key: ['bla'] }), {
      code: 'malformed',
      message: '--key takes a key (name+id+key) or a file of keys: bla: there is no such file or directory',
    });
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('lines and proofs are read as they were written', () => {
  const events = fc.option(
    fc.json().map((text) => ({ source: Buffer.from(text), shown: sha256(Buffer.from(`shown ${text}`)) })),
    { nil: undefined },
  );
  fc.assert(
    fc.property(fc.nat(), events, (position, event) => {
      const entry = entryOf(position);
      const line = Buffer.concat(eventLine(position, entry, event));
      const entries = Buffer.alloc(106);
      assert.deepEqual(readLine(line.subarray(0, -1), entries, 1), { position, event });
      assert.deepEqual(entries.subarray(53), entry);
    }),
  );
  for (const wrong of ['', '{}', '{"n":1}', '{"n":01,"entry":"A"}'])
    assert.equal(readLine(Buffer.from(wrong), Buffer.alloc(53), 0), undefined);
  const proof = {
    index: 3,
    hashes: [sha256(Buffer.from('a')), sha256(Buffer.from('b'))],
    checkpoint: 'o\n\n\u2014 x y\n',
  };
  assert.deepEqual(parseProofText(proofText(proof)), proof);
  assert.deepEqual(parseProofText(proofText(proof).replace('\n', '\nextra AAAA\n')), proof);
  assert.throws(() => parseProofText('c2sp.org/tlog-proof@v1\nindex 01\n\n'), NoteError);
});
