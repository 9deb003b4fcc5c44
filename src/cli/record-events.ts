import { randomInt, randomUUID } from 'node:crypto';
import { encodeSeqColumn, rowsPerSegmentMax, writersMax } from '../base/events/sequence.ts';
import { IngestDirectory } from '../control/ingest-directory.ts';
import { takeNumberIn } from '../ingest/order-numbers.ts';
import { type OwnBlock, OwnEvents } from '../ingest/own-events.ts';
import { createSegmentInsert, newestStored } from '../storage/insert.ts';
import type { RecordEvents } from './context.ts';

/** Events of commands have the last writer number, which no server has. */
const writer = writersMax - 1;

/** Stores what a command did as a segment of its own: no server runs on the embedded engine. */
export const recordEvents: RecordEvents = async (on, events) => {
  const { storage, config, log } = on;
  const block = encode(on, events);
  if (block === undefined) return;
  const { payload, rows } = block;
  const number = await takeNumberIn(config.dataDir, writer, () => newestStored(storage));
  // A random one keeps two commands of the same moment apart.
  const firstRow = randomInt(rowsPerSegmentMax - rows);
  const body = () => [payload, encodeSeqColumn(number, firstRow, rows)];
  const insert = createSegmentInsert(storage, log, `command-${randomUUID()}`);
  await insert({ segment: number, rows, earlier: [], isDamaged: false, take: async () => number, body });
};

function encode(
  { config, directory }: Parameters<RecordEvents>[0],
  events: readonly string[],
): OwnBlock | undefined {
  const organizations = new IngestDirectory(directory, config.retentionDays);
  const organizationOf = (id: string) => organizations.organization(id) ?? { id, retentionDays: undefined };
  const kept = events.filter((event) => {
    const { message } = JSON.parse(event) as { readonly message: { readonly org: string } };
    return directory.deletionOf(message.org) === undefined;
  });
  return kept.length === 0 ? undefined : new OwnEvents(config).encode(kept, organizationOf);
}
