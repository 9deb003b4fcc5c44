import { buffers } from '../../src/base/bytes/buffer-pool.ts';
import { createHash } from 'node:crypto';
import { authenticateKey, type KeyDirectory } from '../../src/control/authenticate-key.ts';
import { keyDigest, newKeyText } from '../../src/control/key-text.ts';
import { stringify } from '../../src/contract/stringify.ts';
import { accessLine } from '../../src/http/access-log.ts';
import { RateLimiter } from '../../src/http/rate-limit.ts';
import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';
import { readPageRequest, whereClause } from '../../src/read/filter.ts';
import { createPageReader } from '../../src/read/page.ts';
import { QueryParameters } from '../../src/read/parameters.ts';
import type { BytesOptions, HeldBytes, Storage } from '../../src/storage/storage.ts';
import type { MappedEvent } from '../../src/ocsf/audit-event.ts';
import { rowsOf, textOf, windows } from './events.ts';
import type { MicroCase } from './measure.ts';

/** The main thread's steps for a request. */

const organization = '0f8fad5b-d9cb-469f-a165-70867728950e';
const each = 200;

function repeated(run: () => unknown): () => void {
  return () => {
    for (let turn = 0; turn < each; turn += 1) run();
  };
}

function filter(): MicroCase {
  const query =
    'startTime=2026-05-01T00%3A00%3A00Z&endTime=2026-05-31T23%3A59%3A59.999Z&actor=Zoe%40acme.example&fileName=Q2%20report.pdf&limit=1000&offset=3000';
  return {
    title: 'query string to SQL condition and parameters',
    unit: 'requests',
    units: each,
    run: repeated(() => {
      const parameters = new URLSearchParams(query);
      const request = readPageRequest(new QueryParameters(parameters), {
        id: organization,
        slug: 'acme',
      });
      return whereClause(organization, request.filter);
    }),
    reference: {
      name: 'URLSearchParams of the same text',
      run: repeated(() => [...new URLSearchParams(query)]),
    },
  };
}

function accessLogLine(): MicroCase {
  const record = {
    status: 200,
    latencyMs: 1.532,
    method: 'GET',
    path: '/api/v1/audit',
    ip: '192.0.2.44',
    port: '51822',
    bytesSent: 1_148_213,
    bytesReceived: 0,
  };
  const timestamp = '2026-05-04T09:30:00.250Z';
  return {
    title: 'access-log line',
    unit: 'lines',
    units: each,
    run: repeated(() => accessLine(record, timestamp)),
    reference: {
      name: 'JSON.stringify of the same members',
      run: repeated(() => `${JSON.stringify({ timestamp, ...record })}\n`),
    },
  };
}

function ingestAnswer(): MicroCase {
  const answer = { accepted: 1, rejected: 0, errors: [] };
  return {
    title: 'answer to one event, compiled from its schema',
    unit: 'answers',
    units: each,
    // Reads the length as the server does, which joins the pieces.
    run: repeated(() => Buffer.byteLength(stringify('IngestAnswer', answer))),
    reference: {
      name: 'JSON.stringify of the same object',
      run: repeated(() => Buffer.byteLength(JSON.stringify(answer))),
    },
  };
}

function rateLimit(): MicroCase {
  const rate = { requests: 300, windowMs: 15_000 };
  let now = 0;
  const limiter = new RateLimiter(() => now);
  const counts = new Map<string, number>();
  const clients = Array.from({ length: 200 }, (_, index) => `192.0.${index >> 8}.${index & 255}`);
  let next = 0;
  const client = (): string => clients[(next = (next + 79) % clients.length)] as string;
  return {
    title: 'rate limiter, 200 clients',
    unit: 'requests',
    units: each,
    run: repeated(() => {
      now += 1;
      return limiter.consume(client(), rate);
    }),
    reference: {
      name: 'a counter in a Map',
      run: repeated(() => {
        const name = client();
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }),
    },
  };
}

function keyCheck(): MicroCase {
  const id = '0123456789abcdef';
  const text = newKeyText(id);
  const directory = {
    apiKey: (wanted: string) =>
      wanted === id
        ? { id, organizationId: organization, digest: keyDigest(text), scopes: ['read'] }
        : undefined,
    organizationById: () => ({ id: organization }),
  } as unknown as KeyDirectory;
  const known = directory.apiKey(id);
  const fixed = { ...directory, apiKey: () => known } as KeyDirectory;
  return {
    title: 'API-key check',
    unit: 'requests',
    units: each,
    run: repeated(() => {
      if (authenticateKey(fixed, text, 0) === undefined) throw new Error('the key is not known');
    }),
    reference: {
      name: 'SHA-256 of the same text',
      run: repeated(() => createHash('sha256').update(text).digest('hex')),
    },
  };
}

/** Few events, as large buffers would measure memory allocation, which differs between processes. */
const pageEvents = 10;
const pieceBytes = 2048;
const pagesInTurn = 20;

/** A page in the pieces that a socket delivers. */
function pagePieces(): Buffer[] {
  const rows = rowsOf(windows);
  const tail = `"logged_time":1780000000000000${eventTail({ vendorName: 'Audit Log Service', productName: 'Audit Log Service' })}`;
  const lines = Array.from(
    { length: pageEvents },
    (_, at) => `${eventHead}${textOf((rows[at % rows.length] as MappedEvent).ocsf)}${tail}`,
  );
  const body = Buffer.from(`100000${lines.join(',\n')}]`);
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length; at += pieceBytes) pieces.push(body.subarray(at, at + pieceBytes));
  return pieces;
}

/** The read path in this process, with an engine that answers immediately. */
function splice(): MicroCase {
  const pieces = pagePieces();
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const hold = ({ headroom, tailroom }: BytesOptions): HeldBytes => {
    const lease = buffers.take(headroom + bytes + tailroom);
    const buffer = new Uint8Array(lease.memory);
    let end = headroom;
    for (const piece of pieces) {
      buffer.set(piece, end);
      end += piece.length;
    }
    return { buffer, start: headroom, end, release: () => lease.release() };
  };
  const storage = {
    bytes: (_query: string, _parameters: unknown, options: BytesOptions) => Promise.resolve(hold(options)),
  } as unknown as Storage;
  const names = { vendorName: 'Audit Log Service', productName: 'Audit Log Service' };
  const readPage = createPageReader(
    storage,
    { head: eventHead, tail: eventTail(names) },
    () => 1_780_000_000_000_000,
  );
  return {
    title: 'page of 10 from the engine to its answer',
    unit: 'pages',
    units: pagesInTurn,
    run: async () => {
      for (let turn = 0; turn < pagesInTurn; turn += 1) {
        // One for each request, as in the server.
        const { signal } = new AbortController();
        const page = await readPage(organization, { filter: {}, limit: pageEvents, offset: 0 }, signal);
        if (!('bytes' in page) || page.bytes.length < bytes) throw new Error('the page is short');
        page.release();
      }
    },
    reference: {
      // Allocates nothing, as the speed of allocation varies fourfold.
      name: 'SHA-256 of the same pieces',
      run: () => {
        for (let turn = 0; turn < pagesInTurn; turn += 1) {
          const hash = createHash('sha256');
          for (const piece of pieces) hash.update(piece);
          if (hash.digest().length === 0) throw new Error('there is no digest');
        }
      },
    },
  };
}

export const requestCases = {
  'micro.filter': filter,
  'micro.access-log': accessLogLine,
  'micro.ingest-answer': ingestAnswer,
  'micro.rate-limit': rateLimit,
  'micro.key-check': keyCheck,
  'micro.splice': splice,
};
