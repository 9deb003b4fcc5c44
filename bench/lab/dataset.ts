import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { acme } from '../../src/demo/acme.ts';
import { Company } from '../../src/demo/company.ts';
import { Draw } from '../../src/demo/draw.ts';

/** Consecutive lines of the data file: the body of one request. */
export interface Span {
  readonly offset: number;
  readonly length: number;
}

/** Source events on disk, as NDJSON, made before the measurements. */
export interface Dataset {
  readonly path: string;
  readonly events: number;
  readonly bytes: number;
  /** Batches of `batchEvents` events; organizations take turns. */
  readonly batches: readonly Span[];
  /** Single events of the first organization. */
  readonly singles: readonly Span[];
}

export const batchEvents = 1000;
const singlesMax = 20_000;
const hourMicros = 3_600_000_000;

/**
 * Events of one hour (from `at`, Unix microseconds; by default the last hour) in companies like the demo's larger one, in batches by
 * organization, each in the order of time.
 */
export async function writeDataset(
  path: string,
  events: number,
  organizations: readonly string[],
  at = Date.now() * 1000 - hourMicros,
): Promise<Dataset> {
  const companies = organizations.map(
    (organization, index) => new Company(new Draw(index + 1), acme, { organization }),
  );
  const file = createWriteStream(path);
  const batches: Span[] = [];
  const singles: Span[] = [];
  let offset = 0;
  while (batches.length * batchEvents < events) {
    const company = companies[batches.length % companies.length];
    const batch: { micros: number; line: string }[] = [];
    while (batch.length < batchEvents) batch.push(...(company?.happen(at) ?? []));
    batch.length = batchEvents;
    batch.sort((a, b) => a.micros - b.micros);
    const body = Buffer.from(batch.map(({ line }) => `${line}\n`).join(''));
    if (batches.length % companies.length === 0 && singles.length < singlesMax) {
      for (let at = 0; at < body.length && singles.length < singlesMax; ) {
        const end = body.indexOf(10, at);
        singles.push({ offset: offset + at, length: end - at });
        at = end + 1;
      }
    }
    batches.push({ offset, length: body.length });
    offset += body.length;
    if (!file.write(body)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
  return { path, events: batches.length * batchEvents, bytes: offset, batches, singles };
}
