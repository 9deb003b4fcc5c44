import { type ByteFlow, toReadable } from '../../src/base/bytes/byte-flow.ts';
import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';
import type { ReadBody } from '../../src/read/read-body.ts';
import { createReaders, type Readers } from '../../src/read/readers.ts';
import { Ocsf110Pool } from '../../src/read/ocsf110/pool.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { silentLog } from '../support/engine.ts';

interface Shown {
  /** Names of files of the events, or `own`, in order. */
  readonly pages: readonly string[];
  readonly feed: readonly string[];
  readonly exported: readonly string[];
  readonly total: number;
  readonly exportTotal: number;
  readonly histogram: number;
  readonly topValues: number;
  /** Of one actor, by the table's counts. */
  readonly filtered: number;
}

const envelope = { head: eventHead, tail: eventTail({ vendorName: 'V', productName: 'P' }) };

/** The file named in an event's text, or `own` for the service's own events. */
function nameOf(event: object): string {
  return /"(e\d+)"/.exec(JSON.stringify(event))?.[1] ?? 'own';
}

async function textOf(body: ReadBody): Promise<string> {
  if ('flow' in body) return flowText(body.flow);
  const text = Buffer.from(body.bytes).toString('utf8');
  body.release();
  return text;
}

async function flowText(flow: ByteFlow): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of toReadable(flow)) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('utf8');
}

const never = new AbortController().signal;

function readersOf(storage: Storage, retentionCutOff: () => number | undefined): Readers {
  return createReaders({
    storage,
    pool: new Ocsf110Pool({ vendorName: 'V', productName: 'P', appName: 'A' }, silentLog),
    envelope,
    clock: () => 0,
    secret: 'a secret of the test',
    order: {
      watermarks: () => ({ of: () => 2n ** 62n }),
      arrivedBefore: () => undefined,
      waitingMs: () => 0,
    },
    retentionCutOff,
    stopping: new AbortController().signal,
  });
}

async function pagesOf({ page }: Readers, organization: string) {
  const read = async (offset: number, limit: number) => {
    const text = await textOf(await page(organization, { filter: {}, offset, limit }, never));
    return JSON.parse(text) as { data: object[]; meta: { total: number } };
  };
  const first = await read(0, 7);
  const rest = await read(7, 1000);
  return { names: [...first.data, ...rest.data].map(nameOf), total: first.meta.total };
}

async function feedOf({ feed }: Readers, organization: string): Promise<string[]> {
  const names: string[] = [];
  for (let cursor = ''; ; ) {
    const request = { filter: {}, cursor, limit: 5, waitSeconds: 0 };
    const { data, meta } = JSON.parse(await textOf(await feed(organization, request, never))) as {
      data: object[];
      meta: { next_cursor: string; has_more: boolean };
    };
    names.push(...data.map(nameOf));
    if (!meta.has_more) return names;
    cursor = meta.next_cursor;
  }
}

/** All reads of an organization whose events are all below the watermark. */
export async function readEachWay(
  storage: Storage,
  organization: string,
  retentionCutOff: () => number | undefined,
): Promise<Shown> {
  const readers = readersOf(storage, retentionCutOff);
  const { names, total } = await pagesOf(readers, organization);
  const exported = await readers.export(organization, { format: 'ndjson', filter: {} }, 0, never);
  const lines = (await flowText(exported.stream)).split('\n').filter((line) => line !== '');
  const top = await readers.topValues(organization, {}, 100, never);
  return {
    pages: names.toSorted(),
    feed: (await feedOf(readers, organization)).toSorted(),
    exported: lines.map((line) => nameOf(JSON.parse(line) as object)).toSorted(),
    total,
    exportTotal: exported.total,
    histogram: (await readers.histogram(organization, {}, false, never)).meta.total,
    topValues: top.activities.reduce((sum, { count }) => sum + count, 0),
    filtered: (
      await readers
        .page(organization, { filter: { is: { actor: 'u1@x.test' } }, offset: 0, limit: 1000 }, never)
        .then(textOf)
        .then((text) => JSON.parse(text) as { meta: { total: number }; data: unknown[] })
    ).meta.total,
  };
}
