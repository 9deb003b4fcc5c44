import { cpSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { linesOf } from '../checks/log.ts';
import type { Draw } from '../draw.ts';
import { brief, hold } from '../finding.ts';
import { operationByName } from '../operations/by-name.ts';
import type { Operation, World } from '../world.ts';
import { flipBit } from '../../support/flip-bit.ts';
import { call } from '../../support/http.ts';

/**
 * Damages files of tables while nothing runs: the service reports it, and refuses access to the organizations
 * concerned.
 */

/** A change right before, so that the newest part of the journal may be the one that ends something. */
const changes = ['revoke a key', 'disable a user', 'place a hold', 'make a key'] as const;

async function flipIn(part: string, draw: Draw): Promise<void> {
  const data = readdirSync(part).filter(
    (name) => name.endsWith('.bin') && statSync(join(part, name)).size > 0,
  );
  await flipBit(join(part, draw.pick(data)), draw.next());
}

/** The only copy of its rows: as long as source parts are on the disk, the engine makes it again. */
function isLast(table: string): string {
  const ofTable = `database = 'audit' AND table = '${table}'`;
  return `${ofTable} AND active AND rows > 0 AND name NOT IN (
    SELECT part.name FROM system.parts AS part JOIN system.parts AS old USING (database, table, partition_id)
    WHERE ${ofTable} AND part.active AND NOT old.active
      AND old.min_block_number >= part.min_block_number AND old.max_block_number <= part.max_block_number)`;
}

/** Stops, damages a part if it still exists, and starts. */
async function harmWhileStopped(
  world: World,
  part: string,
  draw: Draw,
): Promise<'removed' | 'flipped' | 'gone'> {
  if (draw.chance(0.5)) await world.service.kill();
  else await world.service.stop();
  const isFlipped = draw.chance(0.4);
  if (!existsSync(part)) {
    // It was merged meanwhile.
    await world.service.start();
    return 'gone';
  }
  if (isFlipped) await flipIn(part, draw);
  else rmSync(part, { recursive: true });
  return isFlipped ? 'flipped' : 'removed';
}

const linesIn = (text: string): string[] => text.split('\n').filter((line) => line !== '');

async function newestPart(world: World, table: string): Promise<string | undefined> {
  const found = await world.service.ask(
    `SELECT path FROM system.parts WHERE ${isLast(table)} ORDER BY modification_time DESC, max_block_number DESC`,
  );
  return linesIn(found)[0];
}

/** The operator puts back a copy of the lost rows. */
const controlData: Operation = {
  name: 'harm control data while stopped',
  weight: 0.8,
  kind: 'alone',
  run: async (world, draw) => {
    await operationByName(draw.pick(changes)).run(world, draw);
    const newest = await newestPart(world, 'journal');
    if (newest === undefined) return undefined;
    if (draw.chance(0.5)) await world.service.kill();
    else await world.service.stop();
    // If it is gone, it was merged meanwhile.
    const copy = join(world.directory, 'part-of-the-journal');
    const isThere = existsSync(newest);
    if (isThere) move(newest, copy);
    if (isThere) world.damaged('control_data', linesOf.controlData);
    await world.service.start();
    if (!isThere) return undefined;
    await world.service.reports('control_data', 'the newest part of the journal was removed');
    await refusesEverybody(world);
    await world.service.stop();
    move(copy, newest);
    await world.service.start();
    return 'the newest part of the journal: removed, and put back';
  },
};

/** The data directory may be on a disk of its own, which a rename does not leave. */
function move(from: string, to: string): void {
  cpSync(from, to, { recursive: true });
  rmSync(from, { recursive: true });
}

async function refusesEverybody(world: World): Promise<void> {
  const { url } = await world.service.up();
  for (const { slug, keys } of world.model.here)
    for (const { text } of keys) {
      const { status } = await call(`${url}/api/v1/audit?limit=1`, { headers: { 'x-api-key': text } });
      const words = `a key of ${slug} is answered ${status} while the newest changes are missing`;
      hold([401, 403, 503].includes(status), 'what was ended stays ended', () => words);
    }
}

interface Lost {
  readonly part: string;
  readonly path: string;
  readonly rows: number;
  /** The count of missing events omits expired ones and those in the range of a removal. */
  readonly counted: number;
}

/** A part covered by the trees, as its events are not new. */
async function anyPart(world: World, draw: Draw): Promise<Lost | undefined> {
  const found = await world.service.ask(
    `SELECT name, path, rows FROM system.parts WHERE ${isLast('events')} AND modification_time < now() - 15`,
  );
  const [part = '', path = '', rows = ''] = draw.pickAny(linesIn(found))?.split('\t') ?? [];
  if (part === '') return undefined;
  const counted = await world.service.ask(
    `SELECT count() FROM events LEFT JOIN (SELECT org, max(before) AS before, max(below) AS below FROM removals GROUP BY org) AS r
     USING org WHERE _part = '${part}' AND expires > today() AND (toUnixTimestamp64Micro(time) >= before OR seq >= below)`,
  );
  return { part, path, rows: Number(rows), counted: Number(counted) };
}

/** Marks the events of a part as lost when called: their organizations may not be called healthy any more. */
async function losing(world: World, { part }: Lost): Promise<() => void> {
  const found = await world.service.ask(
    `SELECT DISTINCT toString(org), extract(source, 'sim=([a-z0-9]+\\\\.[0-9]+\\\\.[0-9]+)=') FROM events WHERE _part = '${part}'`,
  );
  const rows = linesIn(found).map((line) => line.split('\t'));
  return () => {
    for (const [org, id = ''] of rows) {
      const organization = world.model.organizations.find((one) => one.id === org);
      if (organization === undefined) continue;
      organization.tampered = 'a part with events of it was lost';
      organization.own.doubt(world.followers.get(organization.slug)?.[0]?.own ?? []);
      if (id !== '') organization.removed.add(id);
    }
  };
}

interface Report {
  readonly checks: readonly { readonly about: string; readonly findings: readonly unknown[] }[];
}

const events: Operation = {
  name: 'lose a part of the events while stopped',
  weight: 0.4,
  kind: 'alone',
  run: async (world, draw) => {
    if (world.model.here.some(({ tampered }) => tampered !== undefined)) return undefined;
    const lost = await anyPart(world, draw);
    if (lost === undefined) return undefined;
    const note = await losing(world, lost);
    const done = await harmWhileStopped(world, lost.path, draw);
    if (done === 'gone') return undefined;
    note();
    world.damaged('missing_events', linesOf.events);
    world.damaged('unreadable', linesOf.events);
    await world.service.start();
    if (done === 'flipped') await takeOut(world, lost);
    else if (lost.counted > 0) await world.service.reports('missing_events', `${lost.rows} events are gone`);
    return `the part ${lost.part} of ${lost.rows} events: ${done}`;
  },
};

/** The operator's remedy: `doctor` names the part, and detaches it. */
async function takeOut(world: World, { part, rows }: Lost): Promise<void> {
  const { stdout, stderr } = await world.command(['doctor', '--json']);
  const { checks } = JSON.parse(stdout.split('\n')[0] ?? '{}') as Report;
  const named = checks.some(({ findings }) => JSON.stringify(findings).includes(part));
  hold(
    named,
    'losses are reported',
    () => `the doctor does not name ${part}: ${brief(stdout)} ${brief(stderr)}`,
  );
  const answer = await world.command(['doctor', '--detach', part]);
  const isTold = answer.code === 0 && answer.stdout.includes(String(rows));
  hold(
    isTold,
    'losses are reported',
    () => `${part} of ${rows} events: ${brief(answer.stdout + answer.stderr)}`,
  );
}

export const damages: readonly Operation[] = [controlData, events];
