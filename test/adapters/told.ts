import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateEvent } from '../../src/ocsf/ocsf110/validate.ts';
import { map } from '../ocsf/arbitrary.ts';
import { mappedBy, mappingOf } from '../support/mappings.ts';
import { type OcsfEvent, ocsf110Text } from '../ocsf/ocsf110-support.ts';

/**
 * What a person reads in a record, and what a program must read in its event: who did what to whom, where from, and
 * how it went. Each line was written from the documents of the source, not from what the mapping gave.
 */

export type Row = readonly [record: object, told: string];

/** The valid event of a record. */
export function eventOf(name: string, record: object): OcsfEvent {
  const [event, ...more] = eventsOf(name, record);
  assert.equal(more.length, 0);
  return event ?? assert.fail();
}

export function eventsOf(name: string, record: object): OcsfEvent[] {
  const events = mappedBy(mappingOf(name), record);
  if (typeof events === 'string') assert.fail(events);
  return events.map((event) => {
    const row = map(event);
    if (typeof row === 'string') assert.fail(`${row}: ${event}`);
    const ocsf = JSON.parse(ocsf110Text(row.source, row.timeMicros)) as OcsfEvent;
    assert.deepEqual(validateEvent(ocsf), [], event);
    return ocsf;
  });
}

type Named = { readonly name?: string; readonly uid?: string; readonly email_addr?: string } | undefined;
const nameOf = (one: Named): string | undefined => one && (one.email_addr ?? one.name ?? one.uid);

/** Class, activity, actor, and what else there is; `from` and the outcome are told only where they are others than usual. */
export function told(event: OcsfEvent): string {
  const { class_name: what, activity_id: id, activity_name: activity, actor, user, group, file } = event;
  const place = event['src_endpoint'] ?? event['device'] ?? {};
  const from = place.ip ?? place.hostname ?? place.name;
  const resource = event['entity'] ?? event['resources']?.[0];
  const parts = {
    by: nameOf(actor.user) ?? 'nobody',
    to: nameOf(user),
    group: nameOf(group),
    of: resource && (resource.name ?? resource.uid),
    file: file?.name,
    as: event['privileges']?.join(', '),
    from: from === '198.51.100.7' || from === 'Unknown' ? undefined : from,
  };
  const texts = Object.entries(parts).flatMap(([name, text]) =>
    text === undefined ? [] : [`${name} ${text}`],
  );
  const failure = event['status_id'] === 2 ? [`failed ${event['status_code']}`] : [];
  const detail = String(event['status_detail'] ?? '');
  const unknown = detail.startsWith('outcome unknown: ') ? [detail.replace('outcome ', '')] : [];
  return [`${what}: ${id === 99 ? 'Other' : activity}`, ...texts, ...failure, ...unknown].join(' | ');
}

export function table(name: string, title: string, rows: readonly Row[]): void {
  test(`${name}: ${title}`, () => {
    const read = rows.map(([record]) => told(eventOf(name, record)));
    assert.deepEqual(
      read,
      rows.map(([, expected]) => expected),
    );
  });
}
