import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type { RecordEvents } from './cli/context.ts';
import { runCli } from './cli/program.ts';
import type { Config } from './config/config.ts';
import { readEnvironment } from './config/env.ts';
import { eventHead, eventTail } from './ocsf/envelope.ts';
import type { Storage } from './storage/storage.ts';

/**
 * Runs `write` with a segment number of the command's own, beside a server that writes the same table. A reader of the
 * feed must know of the rows before they have a place in its order: so the claim is in the engine, and told, before
 * the number is taken. It is above the newest segment of the log in the data directory, wherever the clock is: nothing
 * above that was handed out. The last writer number is left to commands.
 */
async function atPlaceOfItsOwn(
  storage: Storage,
  config: Config,
  write: (segment: number, writer: string) => Promise<void>,
): Promise<void> {
  const [sequence, watermarks, { announceCommand }, { newestSegmentIn }] = await Promise.all([
    import('./ingest/sequence.ts'),
    import('./storage/watermarks.ts'),
    import('./storage/peers.ts'),
    import('./ingest/files.ts'),
  ]);
  const hasOwnEngine = config.clickhouse.url === undefined;
  const newest = async (): Promise<number> =>
    hasOwnEngine ? newestSegmentIn(join(config.dataDir, 'wal')) : 0;
  const writer = randomUUID();
  const low = Math.max(await newest(), sequence.segmentAtTime(Date.now()));
  await watermarks.claimWatermark(storage, writer, low);
  try {
    if (hasOwnEngine) await announceCommand(config.dataDir);
  } catch (error) {
    // Nothing has been written: readers need not wait for this one.
    await watermarks.withdrawWatermark(storage, writer);
    throw error;
  }
  const last = Math.max(low, await newest());
  // In the same tick as the server's last, whose writer number is lower: its next one is then above this one.
  const number = sequence.nextSegmentNumber(Date.now(), sequence.writersMax - 1, last - sequence.writersMax);
  await watermarks.claimWatermark(storage, writer, number);
  await write(number, writer);
  await watermarks.withdrawWatermark(storage, writer, number);
}

/** Rows of a command's own; a random place within the segment keeps two commands of the same moment apart. */
const recordEvents: RecordEvents = async (storage, config, log, events) => {
  // Loaded when there is something to record: listing keys need not wait for the schema compiler.
  const [
    { createMapper },
    { alwaysRedacted },
    { toWindow },
    { BlockBuilder },
    sequence,
    { createSegmentInsert },
  ] = await Promise.all([
    import('./ocsf/audit-event.ts'),
    import('./ocsf/redact.ts'),
    import('./ocsf/byte-text.ts'),
    import('./ingest/native-block.ts'),
    import('./ingest/sequence.ts'),
    import('./storage/insert.ts'),
  ]);
  const { listOrganizations, effectiveRetentionDays } = await import('./control/organizations.ts');
  const organizations = new Map((await listOrganizations(storage)).map((one) => [one.id, one]));
  const { appName, redactKeys } = config;
  const mapEvent = createMapper({ appName, redactKeys: [...alwaysRedacted, ...redactKeys] });
  const block = new BlockBuilder();
  for (const event of events) {
    const window = toWindow(JSON.stringify(event));
    const mapped = mapEvent(window, 0, window.text.length, (reference) => {
      const found = organizations.get(reference ?? '');
      if (found === undefined) return '/message/org: is not an organization of this service';
      return { id: found.id, retentionDays: effectiveRetentionDays(found, config.retentionDays) };
    });
    if (typeof mapped === 'string') throw new Error(mapped);
    block.add(mapped);
  }
  const rows = block.rows();
  const payload = new Uint8Array(block.bytes());
  block.finish(payload, 0);
  await atPlaceOfItsOwn(storage, config, async (number, writer) => {
    const firstRow = randomInt(sequence.rowsPerSegmentMax - rows);
    const body = [payload, sequence.encodeSeqColumn(number, firstRow, rows)];
    const seq = sequence.segmentSeqRange(number);
    const insert = createSegmentInsert(storage, log, `command-${writer}`);
    await insert({ number, rows, seq, body, doubtful: false, isDamaged: false });
  });
};

/** The first signal asks for an orderly end; a second one takes the system's default and ends at once. */
async function untilStopped(): Promise<void> {
  const heard = new AbortController();
  const { signal } = heard;
  await Promise.race([once(process, 'SIGINT', { signal }), once(process, 'SIGTERM', { signal })]);
  heard.abort();
}

// A reader that has gone away, such as `head`, is no reason to fail.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const code = await runCli(process.argv.slice(2), {
  environment: readEnvironment(),
  io: {
    out: (text) => process.stdout.write(text),
    error: (text) => process.stderr.write(text),
    output: process.stdout,
    errorIsTerminal: process.stderr.isTTY,
    input: process.stdin,
  },
  recordEvents,
  eventEnvelope: (config) => ({ head: eventHead, tail: eventTail(config) }),
  startService: async (config, parts) => (await import('./main.ts')).startService(config, parts),
  untilStopped,
});
process.exit(code);
