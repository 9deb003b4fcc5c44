import { parse as parseCsv } from 'csv-parse/sync';
import { elementsOf } from '../checks/json-elements.ts';
import { atRest, checkPages } from '../checks/ways-out.ts';
import { Follower } from '../checks/follow.ts';
import { hold } from '../finding.ts';
import type { Operation } from '../world.ts';

/** Reads during writes: counts are unknown, but every answer is checked. */

const formats = ['ndjson', 'json', 'csv', 'ndjson&schema=ocsf'];

/** Number of events of an export that ended cleanly, also while an engine dies; -1: not an export. */
function eventsIn(format: string, text: string): number {
  if (format === 'csv') return parseCsv(text, { record_delimiter: '\r\n' }).length - 1;
  if (format !== 'json') return text.split('\n').filter((line) => line !== '').length;
  return text.trimEnd().endsWith(']') ? elementsOf(text, '[').length : -1;
}

export const reads: readonly Operation[] = [
  {
    name: 'follow the feed',
    weight: 4,
    kind: 'actor',
    run: async (world, draw) => {
      const organization = draw.pickAny(world.model.here);
      if (organization === undefined) return undefined;
      const all = world.followers.get(organization.slug) ?? [];
      if (all.length > 0 && all.length < 5 && draw.chance(0.2))
        all.push(new Follower(organization, draw.pick([3, 50, 1000, 10_000])));
      const follower = draw.pickAny(all.slice(1));
      if (follower === undefined) return undefined;
      return world.alone(`${organization.slug} follower ${all.indexOf(follower)}`, async () => {
        const before = follower.seen.length;
        for (let pages = draw.int(1, 20); pages > 0 && (await follower.poll(world, draw.int(0, 1))); pages--);
        return `${organization.slug}: a follower went on from ${before} to ${follower.seen.length}`;
      });
    },
  },
  {
    name: 'read a page',
    weight: 3,
    kind: 'actor',
    run: async (world, draw) => {
      const organization = draw.pickAny(world.model.here);
      if (organization === undefined) return undefined;
      const filter = draw.pick([
        '',
        '&severity=High',
        `&actor=user-1@${organization.slug}.example`,
        '&q=done',
        '&schema=ocsf',
        '&fileName=Größe.txt',
      ]);
      const query = `limit=${draw.pick([1, 50, 1000, 99_999])}&offset=${draw.pick([0, 0, 10, 500])}${encodeURI(filter)}`;
      const answer = await world.read(organization, `/api/v1/audit?${query}`);
      return answer && `${organization.slug}: a page with ${query}`;
    },
  },
  {
    name: 'export',
    weight: 1.5,
    kind: 'actor',
    run: async (world, draw) => {
      const organization = draw.pickAny(world.model.here);
      if (organization === undefined) return undefined;
      const format = draw.pick(formats);
      const answer = await world.read(organization, `/api/v1/audit/export?format=${format}`);
      if (answer !== undefined) {
        const [count, said] = [eventsIn(format, answer.text), Number(answer.headers['x-total-count'])];
        hold(
          count === said,
          'an export has as many events as it says',
          () => `${count} of ${said} as ${format}: …${answer.text.slice(-200)}`,
        );
      }
      return answer && `${organization.slug}: an export as ${format}`;
    },
  },
  {
    name: 'page through everything at rest',
    weight: 1,
    kind: 'alone',
    run: async (world, draw) => {
      const organization = draw.pickAny(
        world.model.here.filter(({ batches }) => batches.every(({ state }) => state === 'stored')),
      );
      if (organization === undefined || organization.order.length < organization.events.size)
        return undefined;
      await checkPages(world, atRest(world, organization), draw);
      return `${organization.slug}: all pages`;
    },
  },
];
