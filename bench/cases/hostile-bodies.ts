import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { Zstd } from '@hpcc-js/wasm-zstd';

/** The most expensive bodies of one request. */
export interface HostileBody {
  /** Name of the case, after `hostile.`. */
  readonly name: string;
  readonly title: string;
  readonly contentType: 'application/json' | 'application/x-ndjson';
  readonly encoding: 'identity' | 'gzip' | 'deflate' | 'br' | 'zstd';
  readonly status: 202 | 400;
  /** The largest body, stored as a whole: sent one at a time, with a longer measurement beside it. */
  readonly isLarge?: true;
  /** Made on demand, as all bodies together are large. */
  readonly make: () => Promise<Buffer> | Buffer;
}

const bodyBytesMax = 32 * 1024 * 1024;
const wideBytes = 8 * 1024 * 1024;
const eventBytes = 1_000_000;
const manyRejected = 100_000;
const manyMonths = 1_000;

const good = '{"time":"2026-05-04T10:00:00Z","message":{"action":1001}}';
const jsonOf = (extra: string): string =>
  `{"time":"2026-05-04T10:00:00Z","message":{"action":1001,"extra":${extra}}}\n`;

/** Blank lines, which no check rejects early. */
const blank = (): Buffer => Buffer.alloc(bodyBytesMax, 0x0a);

function repeated(line: string, bytes: number): Buffer {
  return gzipSync(line.repeat(Math.floor(bytes / line.length)), { level: 1 });
}

function wideEvent(): string {
  const members: string[] = [];
  for (let length = 0; length < eventBytes; ) {
    const member = `"k${members.length}":1`;
    members.push(member);
    length += member.length + 1;
  }
  return jsonOf(`{${members.join(',')}}`);
}

function months(): Buffer {
  const lines = Array.from({ length: manyMonths }, (_, n) =>
    good.replace('2026-05-04T10:00:00Z', new Date(Date.UTC(1980, n, 1)).toISOString()),
  );
  return Buffer.from(lines.join('\n'));
}

/** A body of numbered lines up to the size limit. */
function numbered(line: (n: number) => string): Buffer {
  const body = Buffer.allocUnsafe(bodyBytesMax);
  let length = 0;
  for (let n = 0; ; n += 1) {
    const text = `${line(n)}\n`;
    if (length + text.length > bodyBytesMax) return body.subarray(0, length);
    length += body.write(text, length, 'latin1');
  }
}

const lines = { contentType: 'application/x-ndjson', status: 202 } as const;
const large = { ...lines, encoding: 'identity', isLarge: true } as const;
const bomb = { contentType: 'application/x-ndjson', status: 400 } as const;

export const hostileBodies: readonly HostileBody[] = [
  {
    ...bomb,
    name: 'ones',
    title: 'an array of 16.7 million 1 in 32 KB of gzip',
    contentType: 'application/json',
    encoding: 'gzip',
    make: () => gzipSync(`[1${',1'.repeat(bodyBytesMax / 2 - 2)}]`),
  },
  {
    ...bomb,
    name: 'gzip',
    title: '32 MiB in 32 KB of gzip',
    encoding: 'gzip',
    make: () => gzipSync(blank()),
  },
  {
    ...bomb,
    name: 'deflate',
    title: '32 MiB in 32 KB of deflate',
    encoding: 'deflate',
    make: () => deflateSync(blank()),
  },
  {
    ...bomb,
    name: 'br',
    title: '32 MiB in 100 bytes of br',
    encoding: 'br',
    make: () => brotliCompressSync(blank(), { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  },
  {
    ...bomb,
    name: 'zstd',
    title: '32 MiB in 1 KB of zstd',
    encoding: 'zstd',
    make: async () => Buffer.from((await Zstd.load()).compress(blank())),
  },
  {
    ...lines,
    name: 'wide',
    title: 'events of 1 MB with 90,000 members, 8 of them in gzip',
    encoding: 'gzip',
    make: () => repeated(wideEvent(), wideBytes),
  },
  {
    ...lines,
    name: 'deep',
    title: 'events 120 levels deep, 8 MB of them in gzip',
    encoding: 'gzip',
    make: () => repeated(jsonOf(`{"a":${'['.repeat(120)}${']'.repeat(120)}}`), wideBytes),
  },
  {
    ...lines,
    name: 'months',
    title: `events of ${manyMonths} months`,
    encoding: 'identity',
    make: months,
  },
  {
    ...lines,
    name: 'small',
    title: '5,000 rejected events and a good one in 16 KB',
    encoding: 'identity',
    make: () => Buffer.from(`${'{}\n'.repeat(5_000)}${good}`),
  },
  {
    ...lines,
    name: 'rejected',
    title: `${manyRejected} rejected events and a good one`,
    encoding: 'identity',
    make: () => Buffer.from(`${'{"message":{"action":"x"}}\n'.repeat(manyRejected)}${good}`),
  },
  {
    ...large,
    name: 'large',
    title: '32 MiB of the smallest events',
    make: () => numbered(() => good),
  },
  {
    ...large,
    name: 'large-titles',
    title: '32 MiB of events with titles and levels of their own',
    make: () =>
      numbered(
        (n) =>
          `{"time":"2026-05-04T10:00:00Z","level":"L${n}","message":{"action":{"code":1001,"title":"T${n}"}}}`,
      ),
  },
  {
    ...large,
    name: 'large-names',
    title: '32 MiB of events with names and hashes of their own',
    make: () =>
      numbered(
        (n) =>
          `{"time":"2026-05-04T10:00:00Z","message":{"action":1001,"target":"t${n}",` +
          `"sender":{"file":"f${n}","hash":"h${n}"}}}`,
      ),
  },
];
