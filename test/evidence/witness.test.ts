import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { Witness } from '../../src/evidence/witness.ts';
import { checkpointText } from '../../src/tlog/checkpoint.ts';
import { leafHash } from '../../src/tlog/hash.ts';
import { createSigner, parseNote, parseVerifierKey, verifyNote } from '../../src/tlog/note.ts';
import { RightEdge } from '../../src/tlog/right-edge.ts';
import { TestWitness } from '../support/witness.ts';

/** The dialogue with a witness (C2SP tlog-witness). */

const origin = 'service/log';
const signer = createSigner(origin, Buffer.alloc(32, 1));
const stranger = createSigner(origin, Buffer.alloc(32, 2));
const stand = new TestWitness('witness.example', () => signer.verifierKey);
let url: string;

before(async () => {
  url = await stand.start();
});
after(() => stand.stop());

const leaf = (n: number): Uint8Array => leafHash(Buffer.from(String(n)));

function checkpoint(size: number, by = signer) {
  const edge = new RightEdge();
  for (let n = 0; n < size; n++) edge.add(leaf(n));
  return { organization: 'log', size, note: by.sign(checkpointText({ origin, size, root: edge.root() })) };
}

/** From the tree of one leaf to that of two. */
const secondLeaf = async (older: number): Promise<readonly Uint8Array[]> => (older === 1 ? [leaf(1)] : []);
const never = new AbortController().signal;
const ask = (witness: Witness, size: number, by = signer): Promise<string> =>
  witness.cosign(checkpoint(size, by), secondLeaf, never);
const answersOf = async (work: () => Promise<unknown>): Promise<readonly number[]> => {
  const before = stand.answers.length;
  await work();
  return stand.answers.slice(before);
};

test('a witness is asked with a proof, and for what it has cosigned where that is not known', async () => {
  const first = new Witness({ key: stand.key, url: `${url}//` });
  const line = await ask(first, 1);
  const { text } = parseNote(checkpoint(1).note);
  const [signed] = verifyNote(parseNote(`${text}\n${line}`), [parseVerifierKey(stand.key)]);
  assert.ok(Math.abs((signed?.seconds ?? 0) - Date.now() / 1000) < 600);
  assert.deepEqual(await answersOf(() => ask(first, 2)), [200]);
  // Another process does not know, and asks for the same checkpoint once more.
  const second = new Witness({ key: stand.key, url });
  assert.deepEqual(await answersOf(() => ask(second, 2)), [409, 200]);
  assert.deepEqual(await answersOf(() => ask(second, 2)), [200]);
  assert.equal(second.isPaused, false);
});

test('what is no signature of this witness on this checkpoint is none', async () => {
  const witness = new Witness({ key: stand.key, url });
  stand.isLying = true;
  await assert.rejects(ask(witness, 2), /the signature of witness\.example is not one of its key/);
  stand.isLying = false;
  const other = new TestWitness('other.example', () => signer.verifierKey);
  await assert.rejects(ask(new Witness({ key: other.key, url }), 2), /none of the known keys has signed/);
  assert.equal(witness.isPaused, false);
});

test('a refusal is told, and that a witness has seen more events than there are', async () => {
  const witness = new Witness({ key: stand.key, url });
  await assert.rejects(ask(witness, 2, stranger), /it answered 403/);
  await assert.rejects(ask(witness, 1), /it has cosigned 2 events of this log, which has 1/);
  await assert.rejects(ask(witness, 3), /it answered 422/);
  assert.equal(witness.isPaused, false);
});

test('one that is not there is left alone for a while; one that is silent is not waited for', async () => {
  const absent = new Witness({ key: stand.key, url: 'http://127.0.0.1:1' });
  await assert.rejects(ask(absent, 1), /fetch failed/);
  assert.equal(absent.isPaused, true);
  stand.isSilent = true;
  const ending = new AbortController();
  const asked = new Witness({ key: stand.key, url }).cosign(checkpoint(1), secondLeaf, ending.signal);
  ending.abort();
  await assert.rejects(asked, { name: 'AbortError' });
});
