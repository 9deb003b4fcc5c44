/** The bytes in pieces of these sizes, in turn. */
export async function* cutInto(
  bytes: Buffer,
  sizes: readonly number[],
): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const end = at + Math.max(1, sizes[n % sizes.length] ?? 1);
    yield bytes.subarray(at, end);
    at = end;
  }
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
