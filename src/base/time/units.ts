const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a duration such as `500ms`, `90s`, `15m`, `12h` or `30d`; undefined if invalid. */
export function parseDurationMs(text: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  if (!match) return undefined;
  return Number(match[1]) * (unitMs[match[2] ?? ''] ?? Number.NaN);
}

/** The shortest whole-unit text: 43,200,000 becomes `12h`. */
export function formatDurationMs(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const size = unitMs[unit] ?? 1;
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
}

const bytesOfUnit: Readonly<Record<string, number>> = { '': 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** Bytes of a size such as `33554432`, `64 MiB` or `8GiB`; undefined if invalid. */
export function parseBytes(text: string): number | undefined {
  const match = /^(\d{1,15}) ?(|KiB|MiB|GiB)$/.exec(text);
  if (!match) return undefined;
  const bytes = Number(match[1]) * (bytesOfUnit[match[2] ?? ''] ?? Number.NaN);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
