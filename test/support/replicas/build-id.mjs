import { closeSync, openSync, readSync } from 'node:fs';

/** Of the `libchdb.so` of npm `chdb` 3.4.0 for x64 (ClickHouse 26.7.2.1). */
export const knownBuildId = 'd3d8f5517577ad52775b52318a193784b2fb5317';

/**
 * The build id of a 64-bit ELF file: the description of the note `GNU` of type 3. Undefined where it has none.
 *
 * @param {string} path
 * @returns {string | undefined}
 */
export function buildIdOf(path) {
  const file = openSync(path, 'r');
  const read = (/** @type {number} */ at, /** @type {number} */ bytes) => {
    const buffer = Buffer.alloc(bytes);
    readSync(file, buffer, 0, bytes, at);
    return buffer;
  };
  try {
    const head = read(0, 64);
    const headers = Number(head.readBigUInt64LE(32));
    const [size, count] = [head.readUInt16LE(54), head.readUInt16LE(56)];
    for (let n = 0; n < count; n += 1) {
      const header = read(headers + n * size, size);
      const noteType = 4;
      if (header.readUInt32LE(0) !== noteType) continue;
      const note = read(Number(header.readBigUInt64LE(8)), Number(header.readBigUInt64LE(32)));
      if (note.readUInt32LE(8) === 3 && note.toString('latin1', 12, 15) === 'GNU')
        return note.toString('hex', 16, 16 + note.readUInt32LE(4));
    }
    return undefined;
  } finally {
    closeSync(file);
  }
}
