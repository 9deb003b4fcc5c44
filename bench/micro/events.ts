import { acme } from '../../src/demo/acme.ts';
import { demoEvents } from '../../src/demo/events.ts';
import { Mapper, type MappedEvent } from '../../src/ocsf/audit-event.ts';
import type { Piece } from '../../src/ocsf/byte-sink.ts';
import { toWindow, type Window } from '../../src/ocsf/byte-text.ts';
import { makeRedaction } from '../../src/ocsf/redact.ts';

/** The same 200 source events in every run: their instants, people and files are fixed. */
export const texts: readonly string[] = [
  ...demoEvents({ profile: acme, count: 200, endMicros: 1_780_000_000_000_000, seed: 7 }),
];

export const windows: readonly Window[] = texts.map(toWindow);

const organization = { id: '0f8fad5b-d9cb-469f-a165-70867728950e', retentionDays: undefined };

const resolveOrg = () => organization;

export function newMapper(): Mapper {
  return new Mapper({ appName: 'Audit Log Service', redaction: makeRedaction({ redactKeys: [] }) });
}

/** Text of a row's piece. */
export const textOf = ({ bytes, start, end }: Piece): string =>
  Buffer.from(bytes).toString('utf8', start, end);

/** Maps all events and passes on each row, valid until the next; throws if one is rejected. */
export function mapEach(
  mapper: Mapper,
  all: readonly Window[],
  use: (row: MappedEvent) => void = () => {},
): number {
  for (const window of all) {
    const row = mapper.map(window, 0, window.text.length, resolveOrg);
    if (typeof row === 'string') throw new Error(`a source event of the bench is refused: ${row}`);
    use(row);
  }
  return all.length;
}

/** Copies of the rows, as the mapper reuses one. */
export function rowsOf(all: readonly Window[]): MappedEvent[] {
  const rows: MappedEvent[] = [];
  const kept = ({ bytes, start, end }: Piece): Piece => ({
    bytes: bytes.slice(start, end),
    start: 0,
    end: end - start,
  });
  mapEach(newMapper(), all, (row) =>
    rows.push({
      ...row,
      activityName: kept(row.activityName),
      level: kept(row.level),
      actorEmail: kept(row.actorEmail),
      actorId: kept(row.actorId),
      names: row.names.map(kept),
      fileName: kept(row.fileName),
      targetName: kept(row.targetName),
      fileHashes: row.fileHashes.map(kept),
      flowId: kept(row.flowId),
      ocsf: kept(row.ocsf),
      source: kept(row.source),
    }),
  );
  return rows;
}
