/**
 * Exceptions by which the engine tells that a file of a part is not what it wrote (ClickHouse error numbers):
 * CANNOT_READ_ALL_DATA, CHECKSUM_DOESNT_MATCH, CANNOT_READ_FROM_FILE_DESCRIPTOR, FILE_DOESNT_EXIST, INCORRECT_DATA,
 * NO_FILE_IN_DATA_PART, CORRUPTED_DATA, CANNOT_DECOMPRESS, UNKNOWN_CODEC, POTENTIALLY_BROKEN_DATA_PART, and a failing
 * call of the file system.
 */
const damageCodes: ReadonlySet<number> = new Set([33, 40, 74, 107, 117, 226, 246, 271, 432, 740, 1001]);

/** A part by its folder, or as the engine says it behind the path: `202611_1_9_2`, with the version of a mutation. */
const namedPart = /(?:\/|reading part )([0-9A-Za-z]+_\d+_\d+_\d+(?:_\d+)?)(?=[\s/:."),]|$)/;

/**
 * The name of the part that could not be read, or undefined where an exception tells of anything else. Some of these
 * numbers also stand for a connection cut short or a bad value, and then no part is named.
 *
 * @param text the exception whole: its name of the part may stand far behind
 */
export function damagedPartIn(code: number | undefined, text: string): string | undefined {
  if (code === undefined || !damageCodes.has(code)) return undefined;
  return namedPart.exec(text)?.[1];
}
