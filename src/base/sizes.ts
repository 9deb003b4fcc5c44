const units: Readonly<Record<string, number>> = { '': 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** Bytes of a size such as `33554432`, `64 MiB` or `8GiB`; undefined when it is not one. */
export function parseBytes(text: string): number | undefined {
  const match = /^(\d{1,15}) ?(|KiB|MiB|GiB)$/.exec(text);
  if (!match) return undefined;
  const bytes = Number(match[1]) * (units[match[2] ?? ''] ?? Number.NaN);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
