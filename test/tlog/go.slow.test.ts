import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkpointText } from '../../src/tlog/checkpoint.ts';
import { encodeEntry } from '../../src/tlog/entry.ts';
import { leafHash, sha256 } from '../../src/tlog/hash.ts';
import { createSigner } from '../../src/tlog/note.ts';
import { RightEdge, type TileHashes } from '../../src/tlog/right-edge.ts';
import { hashInTile, tileWith, tilePath } from '../../src/tlog/tile.ts';
import { consistencyRanges, inclusionRanges, type Node, type Range, rangeHash } from '../../src/tlog/tree.ts';

/** The packages of Debian's golang-golang-x-mod-dev. */
const goPath = '/usr/share/gocode';
const isGoThere =
  existsSync(join(goPath, 'src/golang.org/x/mod/sumdb/tlog')) && spawnSync('go', ['version']).status === 0;
const skip = isGoThere ? false : 'NOT TESTED: apt-get install golang-go golang-golang-x-mod-dev';

test('the Go project agrees on checkpoints, tiles and proofs, and refuses changed ones', {
  skip,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'auditlog-go-'));
  try {
    const program = join(folder, 'verify');
    const source = fileURLToPath(new URL('../fixtures/tlog-go/main.go', import.meta.url));
    const env = {
      ...process.env,
      GO111MODULE: 'off',
      GOPATH: goPath,
      GOCACHE: join(folder, 'cache'),
      GOFLAGS: '',
    };
    const built = spawnSync('go', ['build', '-o', program, source], { env, encoding: 'utf8' });
    assert.equal(built.status, 0, built.stderr);
    const given = exampleLog(70_000, 300, 4711);
    const run = (input: object) => spawnSync(program, { input: JSON.stringify(input), encoding: 'utf8' });
    assert.equal(run(given).stdout, 'ok\n', run(given).stderr);
    const other = sha256(Buffer.from('x')).toString('base64');
    for (const changed of [
      { Entry: other },
      { Index: 4712 },
      { Inclusion: given.Inclusion.with(3, other) },
      { Consistency: given.Consistency.with(0, other) },
      { Newer: given.Newer.replace('\n70000\n', '\n70001\n') },
    ])
      assert.equal(run({ ...given, ...changed }).status, 1, JSON.stringify(changed).slice(0, 80));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** A log like the service's, with two checkpoints and a proof. */
function exampleLog(size: number, older: number, index: number) {
  const origin = 'service/11111111-1111-1111-1111-111111111111';
  const signer = createSigner(origin, Buffer.alloc(32, 1));
  const entryOf = (n: number) =>
    encodeEntry({
      seq: BigInt(n),
      time: n,
      expires: 65_535,
      own: false,
      eventHash: sha256(Buffer.from(String(n))),
    });
  const edge = new RightEdge();
  const tiles = new Map<string, TileHashes>();
  const keep = (tile: TileHashes) =>
    tiles.set(tilePath({ kind: 'hashes', ...tile }), { ...tile, hashes: Buffer.from(tile.hashes) });
  const sign = () => signer.sign(checkpointText({ origin, size: edge.size, root: edge.root() }));
  let first = '';
  for (let n = 0; n < size; n++) {
    edge.add(leafHash(entryOf(n)), keep);
    if (edge.size === older) first = sign();
  }
  for (const tile of edge.partialTiles()) keep(tile);
  const hashOf = (node: Node) => {
    const { level, index: number } = tileWith(node);
    const tile = [...tiles.values()].find((one) => one.level === level && one.index === number);
    return hashInTile(node, tile?.hashes ?? Buffer.alloc(0));
  };
  const proof = (ranges: readonly Range[]) =>
    ranges.map((range) => Buffer.from(rangeHash(range, hashOf)).toString('base64'));
  return {
    Key: signer.verifierKey,
    Older: first,
    Newer: sign(),
    Consistency: proof(consistencyRanges(older, size)),
    Index: index,
    Entry: entryOf(index).toString('base64'),
    Inclusion: proof(inclusionRanges(index, size)),
    Tiles: Object.fromEntries([...tiles].map(([path, { hashes }]) => [path, hashes.toString('base64')])),
  };
}
