import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { cliCommand } from '../support/cli-command.ts';
import { eventually } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';
import { patience } from '../support/patience.ts';
import { chosenEnvironment } from '../support/chosen-engine.ts';
import { finished, withEngine } from './export-support.ts';
import { projectRoot } from '../support/project-root.ts';

describe('an export that is killed', () => {
  /** Three slices. */
  const copies = 600_000;
  let server: TestServer;
  let tenant: Tenant;
  let out: string;
  before(async () => {
    server = await startServer();
    out = await temporaryDirectory();
    tenant = await createTenant(server, 'long');
    await tenant.record([sourceEvent({ timestamp: '2024-01-01T00:00:00Z', target: 'many' })]);
    await tenant.settled(1, { fileName: 'many' });
    const columns =
      'activity_id, activity_name, severity, status, level, result_code, actor_email, actor_id, names, file_hash, file_name, target_name, flow_id, expires, source';
    await withEngine(server, (storage) =>
      storage.command(
        `INSERT INTO events (org, time, seq, ocsf, ${columns}) SELECT org, ` +
          "fromUnixTimestamp64Micro(toUnixTimestamp64Micro(time) + copy * 1000000, 'UTC'), copy, " +
          'replaceOne(ocsf, \'"time":1704067200000000\', concat(\'"time":\', toString(1704067200000000 + copy * 1000000))), ' +
          `${columns} FROM events ARRAY JOIN range(1, ${copies}) AS copy WHERE has(names, 'many')`,
      ),
    );
  });
  after(async () => {
    await server?.stop();
    if (out !== undefined) await removeDirectory(out);
  });

  const finishedSlices = (file: string): { bytes: number }[] => {
    const path = `${file}.partial/state.json`;
    if (!existsSync(path)) return [];
    return (JSON.parse(readFileSync(path, 'utf8')) as { finished: { bytes: number }[] }).finished;
  };
  const args = (file: string) => ['export', '--org', 'long', '--file-name', 'MANY', '-o', file];
  /** Kills the export when this number of slices is finished. Resolves with its state file. */
  const killedAfter = async (
    file: string,
    slices: number,
    more: readonly string[] = [],
    signal: NodeJS.Signals = 'SIGKILL',
  ) => {
    const child = spawn(process.execPath, [...cliCommand, ...args(file), ...more], {
      cwd: projectRoot,
      env: {
        PATH: process.env['PATH'],
        DATA_DIR: server.dataDir,
        ...(await chosenEnvironment(server.dataDir)),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (text: Buffer) => (said += text.toString()));
    const gone = new Promise((resolve) => child.once('exit', resolve));
    await eventually(
      `${slices} slices`,
      async () => (finishedSlices(file).length >= slices ? true : undefined),
      60_000,
      2,
    );
    child.kill(signal);
    await gone;
    assert.equal(existsSync(file), false, said);
    return said;
  };

  test('reports its progress at Ctrl-C, continues with the same snapshot, and ends with the same file', {
    timeout: patience(100_000),
  }, async () => {
    const file = join(out, 'many.ndjson.gz');
    const said = await killedAfter(file, 1, [], 'SIGINT');
    assert.match(said, /stopped: [1-9]\d* of 600000 events are kept; the same command continues after them/);
    const kept = finishedSlices(file);
    assert.ok(kept.length < 3, 'nothing was left to do');
    const begun = readFileSync(`${file}.partial/data`).subarray(0, kept[0]?.bytes);
    // Later events are not in the snapshot.
    await tenant.record([sourceEvent({ timestamp: '2024-01-02T00:00:00.5Z', target: 'many' })]);
    await tenant.settled(1, { startTime: '2024-01-02T00:00:00.5Z', endTime: '2024-01-02T00:00:00.5Z' });
    await killedAfter(file, kept.length + 1);
    // A disk that lost a synced byte of a finished slice.
    const second = (kept[0]?.bytes ?? 0) + 1000;
    const data = await open(`${file}.partial/data`, 'r+');
    await data.write(Buffer.from([0x55, 0xaa]), 0, 2, second);
    await data.close();

    const other = await server.cli([...args(file), '--actor', 'x']);
    assert.equal(other.code, 1);
    assert.match(other.stderr, /another unfinished export/);
    const { code, stderr } = await server.cli(args(file));
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Continuing after \d+ of 600000 events/);
    const { bytes, manifest } = finished(file);
    assert.deepEqual(bytes.subarray(0, begun.length), begun);
    assert.equal(manifest.rows, copies);
    const text = gunzipSync(bytes);
    let at = 0;
    for (let n = 0; n < copies; n++) {
      const end = text.indexOf(10, at);
      const line = text.toString('latin1', at, end);
      const time = 1_704_067_200_000_000 + (copies - 1 - n) * 1_000_000;
      const moment = `"logged_time":${manifest.snapshot.logged_time},`;
      if (!line.includes(`"time":${time},`) || !line.includes(moment)) assert.fail(`line ${n} is ${line}`);
      at = end + 1;
    }
    assert.equal(at, text.length);
  });

  test('begins anew where the events have changed since', { timeout: patience(60_000) }, async () => {
    const file = join(out, 'many.ndjson');
    // Two slices.
    const newest = 320_000;
    const from = new Date((1_704_067_200 + copies - newest) * 1000).toISOString();
    const range = ['--start-time', from];
    await killedAfter(file, 1, range);
    const state = `${file}.partial/state.json`;
    // One event is missing, as after retention.
    writeFileSync(
      state,
      readFileSync(state, 'utf8').replaceAll(/"rows":(\d+)/g, (_, rows) => `"rows":${Number(rows) + 1}`),
    );
    const { code, stderr } = await server.cli([...args(file), ...range]);
    assert.equal(code, 0, stderr);
    assert.equal(finished(file).manifest.rows, newest);
  });
});
