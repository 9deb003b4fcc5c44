import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keyMaker } from '../../src/control/api-keys.ts';
import { eventOfChange, eventText } from '../../src/control/change-events.ts';
import type { Decision } from '../../src/control/decision.ts';
import { emptyJournal, type Entry, nextRow } from '../../src/control/journal.ts';
import { createOrganization } from '../../src/control/organizations.ts';
import { ControlState } from '../../src/control/state.ts';
import { newUser } from '../../src/control/users.ts';
import { reachEngine } from '../lab/engine.ts';
import { ownDirectory } from '../lab/left-behind.ts';
import { cpuMicros } from '../lab/process-stats.ts';
import { type Service, startService } from '../lab/service.ts';
import type { CaseResult } from '../stats/result.ts';
import { median, summarize } from '../stats/summary.ts';

const organizations = 10_000;
const usersOfEach = 10;
const keysOfEach = 10;
const organizationsOfInsert = 500;
const starts = 7;
/** As long as those of argon2id. */
const passwordHash = `$argon2id$v=19$m=19456,t=2,p=1$${'s'.repeat(22)}$${'h'.repeat(43)}`;
/** A server that has recorded the events of these rows. */
const elsewhere = randomUUID();
const operator = { name: 'bench', type: 'App/System' } as const;

interface Start {
  readonly seconds: number;
  readonly service: number;
  readonly engine: number;
}

/** How long a server takes to start that has a hundred thousand users and as many keys. */
export async function benchStart(): Promise<CaseResult> {
  const directory = ownDirectory(await mkdtemp(join(tmpdir(), 'auditlog-bench-')));
  try {
    const empty = await start(directory, fill);
    // Reads the rows without a mark.
    await start(directory);
    const measured: Start[] = [];
    while (measured.length < starts) measured.push(await start(directory));
    const seconds = measured.map((one) => one.seconds);
    const cpu = (side: 'service' | 'engine') => median(measured.map((one) => one[side])).toFixed(2);
    const notes = [
      `${median(seconds).toFixed(2)} s; processor time ${cpu('service')} s of the service, ${cpu('engine')} s of the engine`,
      `the first start, with an empty directory: ${empty.seconds.toFixed(2)} s`,
    ];
    const title = `starts with ${organizations} organizations, ${organizations * usersOfEach} users and ${organizations * keysOfEach} keys`;
    const rate = summarize(seconds.map((one) => 1 / one));
    return { id: 'control.start', title, unit: 'starts', service: { rate }, notes };
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

async function start(directory: string, use?: (service: Service) => Promise<void>): Promise<Start> {
  const dataDir = join(directory, 'data');
  const began = performance.now();
  const service = await startService({
    directory,
    dataDir,
    url: undefined,
    variables: {},
    intervals: undefined,
  });
  const seconds = (performance.now() - began) / 1000;
  const cpu = { service: cpuSeconds(service.pid), engine: cpuSeconds(service.engine.pid) };
  try {
    await use?.(service);
  } finally {
    await service.stop();
  }
  return { seconds, ...cpu };
}

const cpuSeconds = (pid: number | undefined): number => (cpuMicros(pid) ?? Number.NaN) / 1e6;

/** Writes the rows that as many commands would have written. */
async function fill({ engine: access }: Service): Promise<void> {
  const engine = reachEngine(access);
  let head = emptyJournal;
  for (let first = 0; first < organizations; first += organizationsOfInsert) {
    const rows: string[] = [];
    for (let n = first; n < first + organizationsOfInsert; n += 1)
      for (const entry of entriesOf(`start-${n}`)) {
        const { row, digest } = nextRow(head, entry);
        head = { place: row.place, digest };
        rows.push(JSON.stringify(row));
      }
    await engine.query(`INSERT INTO ${access.database}.journal FORMAT JSONEachRow\n${rows.join('\n')}`);
  }
}

/** An organization with its users and keys, a row each. */
function* entriesOf(slug: string): Generator<Entry> {
  const micros = Date.now() * 1000;
  const moment = { micros, place: 1 };
  const made = createOrganization({ slug, name: slug })(new ControlState(), moment);
  const { id: organization } = made.result;
  yield entryOf(organization, micros, made);
  for (let n = 0; n < usersOfEach; n += 1) {
    const person = { email: `user-${n}@${slug}.example`, name: `User ${n}`, role: 'member', passwordHash };
    yield entryOf(organization, micros, newUser(person)(organization, micros));
  }
  for (let n = 0; n < keysOfEach; n += 1)
    yield entryOf(
      organization,
      micros,
      keyMaker({ name: `key ${n}`, scopes: 'write' })(organization, micros),
    );
}

function entryOf(organization: string, micros: number, { parts, changes }: Decision<unknown>): Entry {
  const id = randomUUID();
  const call = { id, organizationId: organization, request: '', micros, result: {} };
  const events = changes.map((change) => eventText(eventOfChange(change, operator), micros));
  return { id, organization, server: elsewhere, parts: [...parts, ['call', call]], events };
}
