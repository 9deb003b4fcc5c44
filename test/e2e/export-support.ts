import { strict as assert } from 'node:assert';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStorage } from '../../src/storage/client.ts';
import type { EngineConnection, Storage } from '../../src/storage/storage.ts';
import { chosenConnection } from '../support/chosen-engine.ts';
import { silentLog } from '../support/engine.ts';
import type { SharedServer } from '../support/server.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

interface Manifest {
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
  readonly filters: Record<string, string>;
  readonly snapshot: { readonly logged_time: number; readonly seq_max: string };
}

/** The bytes of a finished export, compared with its manifest. */
export function finished(file: string): { bytes: Buffer; manifest: Manifest } {
  const bytes = readFileSync(file);
  const manifest = JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8')) as Manifest;
  assert.deepEqual([manifest.bytes, manifest.sha256], [bytes.length, sha256(bytes)]);
  assert.equal(existsSync(`${file}.partial`), false);
  return { bytes, manifest };
}

/** Runs work on the engine of a server. */
export async function withEngine<T>(
  server: SharedServer,
  work: (storage: Storage) => Promise<T>,
): Promise<T> {
  const embedded = () =>
    JSON.parse(readFileSync(join(server.dataDir, 'engine.json'), 'utf8')) as EngineConnection;
  const storage = openStorage((await chosenConnection(server.dataDir)) ?? embedded(), silentLog);
  try {
    return await work(storage);
  } finally {
    await storage.close();
  }
}
