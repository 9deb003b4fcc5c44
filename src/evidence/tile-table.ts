import { RowBinary } from '../storage/row-binary.ts';
import { everyReplicaOf, everywhere } from '../storage/cluster.ts';
import type { Storage } from '../storage/storage.ts';
import { entryBytes } from '../tlog/entry.ts';
import { hashBytes } from '../tlog/hash.ts';
import { type TileId, tileWidth } from '../tlog/tile.ts';

/** Level 0 has entries of events, higher levels hashes. */
export interface StoredTile extends TileId {
  readonly organization: string;
  readonly width: number;
  /** Of the first and the last entry; 0 above level 0. */
  readonly firstSeq: bigint;
  readonly lastSeq: bigint;
  readonly content: Buffer;
}

/** As in the engine's binary formats: two little-endian halves. */
export function uuidBytes(uuid: string): Buffer {
  const bytes = Buffer.from(uuid.replaceAll('-', ''), 'hex');
  bytes.subarray(0, 8).reverse();
  bytes.subarray(8, 16).reverse();
  return bytes;
}

function lengthPrefix(length: number): Buffer {
  const bytes: number[] = [];
  let rest = length;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

function encodeRow({ organization, level, index, width, firstSeq, lastSeq, content }: StoredTile): Buffer[] {
  const fixed = Buffer.alloc(27);
  fixed.writeUInt8(level, 0);
  fixed.writeBigUInt64LE(BigInt(index), 1);
  fixed.writeUInt16LE(width, 9);
  fixed.writeBigUInt64LE(firstSeq, 11);
  fixed.writeBigUInt64LE(lastSeq, 19);
  return [Buffer.concat([uuidBytes(organization), fixed, lengthPrefix(content.length)]), content];
}

interface TileRow {
  readonly org: string;
  readonly level: number;
  readonly tile: string;
  readonly width: number;
  readonly first_seq: string;
  readonly last_seq: string;
  readonly base64: string;
}

/** Content shorter than its width is a narrower tile; the hashes will reveal the damage. */
function toTile(row: TileRow): StoredTile {
  const { org: organization, level } = row;
  const content = Buffer.from(row.base64, 'base64');
  const width = Math.min(row.width, Math.floor(content.length / (level === 0 ? entryBytes : hashBytes)));
  const [firstSeq, lastSeq] = [BigInt(row.first_seq), BigInt(row.last_seq)];
  return { organization, level, index: Number(row.tile), width, firstSeq, lastSeq, content };
}

const rowBytesMax = tileWidth * entryBytes + 8;

/** A content shorter than its width makes a narrower tile. */
function contentsIn(bytes: Buffer): Buffer[] {
  const rows = new RowBinary(bytes);
  const contents: Buffer[] = [];
  while (!rows.isAtEnd) {
    const width = rows.uint16();
    const content = rows.string();
    const entries = Math.min(width, Math.floor(content.length / entryBytes));
    contents.push(content.subarray(0, entries * entryBytes));
  }
  return contents;
}

/** A growing tile may have several rows until parts are merged; the widest counts. */
const columns = 'org, level, tile, width, first_seq, last_seq, base64Encode(content) AS base64';
const widest = 'ORDER BY org, level, tile, width DESC LIMIT 1 BY org, level, tile';

export class TileTable {
  readonly #storage: Storage;
  readonly #table: string;

  /** `every`: on all replicas, for whoever adds to it. */
  constructor(storage: Storage, reads: 'any' | 'every' = 'any') {
    this.#storage = storage;
    this.#table = reads === 'any' ? 'evidence_tiles' : everyReplicaOf(storage, 'evidence_tiles');
  }

  /** One INSERT of one block: all tiles or none. */
  async insert(tiles: readonly StoredTile[]): Promise<void> {
    if (tiles.length === 0) return;
    const into =
      'INSERT INTO evidence_tiles (org, level, tile, width, first_seq, last_seq, content) FORMAT RowBinary';
    const settings = { max_insert_block_size: tiles.length, min_insert_block_size_rows: tiles.length };
    await this.#storage.insertNative(into, tiles.flatMap(encodeRow), { settings });
  }

  async last(organizations: readonly string[]): Promise<StoredTile[]> {
    const rows = await this.#storage.readRows<TileRow>(
      `SELECT ${columns} FROM ${this.#table} WHERE org IN {organizations:Array(UUID)} AND (org, level, tile) GLOBAL IN
        (SELECT org, level, max(tile) FROM ${this.#table} WHERE org IN {organizations:Array(UUID)} GROUP BY org, level)
       ${widest}`,
      { organizations },
      { settings: everywhere },
    );
    return rows.map(toTile);
  }

  async get(organization: string, tiles: readonly TileId[]): Promise<StoredTile[]> {
    if (tiles.length === 0) return [];
    const rows = await this.#storage.readRows<TileRow>(
      `SELECT ${columns} FROM ${this.#table} WHERE org = {organization:UUID} AND (level, tile) IN
        (SELECT p.1, p.2 FROM (SELECT arrayJoin(arrayZip({levels:Array(UInt8)}, {indexes:Array(UInt64)})) AS p))
       ${widest}`,
      { organization, levels: tiles.map(({ level }) => level), indexes: tiles.map(({ index }) => index) },
      { settings: everywhere },
    );
    return rows.map(toTile);
  }

  async withSeqs(organization: string, seqs: readonly bigint[]): Promise<StoredTile[]> {
    const rows = await this.#storage.readRows<TileRow>(
      `SELECT ${columns} FROM ${this.#table} WHERE org = {organization:UUID} AND level = 0
        AND arrayExists(seq -> seq >= first_seq AND seq <= last_seq, {seqs:Array(UInt64)}) ${widest}`,
      { organization, seqs },
    );
    return rows.map(toTile);
  }

  async entries(organization: string, from: number, tiles: number): Promise<Buffer> {
    const held = await this.#storage.bytes(
      `SELECT width, content FROM ${this.#table} WHERE org = {organization:UUID} AND level = 0
       AND tile >= {from:UInt64} AND tile < {to:UInt64} ${widest} FORMAT RowBinary`,
      { organization, from, to: from + tiles },
      { headroom: 0, tailroom: 0, bytesMax: tiles * rowBytesMax },
    );
    if (!('release' in held)) {
      held.destroy();
      throw new Error('Tiles of evidence exceed their maximal size');
    }
    const rows = Buffer.from(held.buffer.buffer, held.start, held.end - held.start);
    const entries = Buffer.concat(contentsIn(rows));
    held.release();
    return entries;
  }

  async reaches(organization: string, seq: bigint): Promise<boolean> {
    const [row] = await this.#storage.readRows<{ found: number }>(
      `SELECT count() > 0 AS found FROM ${this.#table}
       WHERE org = {organization:UUID} AND level = 0 AND last_seq >= {seq:UInt64}`,
      { organization, seq },
    );
    return row?.found === 1;
  }

  /** Index of the level-0 tile whose range includes a `seq`; undefined if none begins before it. */
  async indexBefore(organization: string, seq: bigint): Promise<number | undefined> {
    const [row] = await this.#storage.readRows<{ tile: string; tiles: string }>(
      `SELECT max(tile) AS tile, count() AS tiles FROM ${this.#table}
       WHERE org = {organization:UUID} AND level = 0 AND first_seq <= {seq:UInt64}`,
      { organization, seq },
    );
    return row === undefined || row.tiles === '0' ? undefined : Number(row.tile);
  }
}
