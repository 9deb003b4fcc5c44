import { isDeepStrictEqual } from 'node:util';
import type { Draw } from '../draw.ts';
import { brief, hold } from '../finding.ts';
import { isoOf } from '../filters.ts';
import type { ModelEvent, Transfer } from '../model.ts';
import type { World } from '../world.ts';
import type { Rest } from './ways-out.ts';

/** The receipt of a flow, as the rules in words have it: at most one start and one end, which name the same file. */
function receiptOf({ kind, file, size, destination }: Transfer, events: readonly ModelEvent[]): object {
  const transferOf = (isStart: boolean) => events.find(({ transfer }) => transfer?.isStart === isStart);
  const [start, end] = [transferOf(true), transferOf(false)];
  const hasFailed = events.some(({ transfer }) => transfer?.hasFailed === true);
  return {
    file_size: size,
    flow_id: events[0]?.flow,
    kind,
    file_name: file,
    destination,
    status: hasFailed ? 'failed' : end === undefined ? 'started' : 'completed',
    ...(start !== undefined && { started_at: isoOf(start.micros) }),
    ...(end !== undefined && { completed_at: isoOf(end.micros) }),
  };
}

/** Receipts of events that stand newest first: where a flow has its start, else its end. */
function receiptsOf(events: readonly ModelEvent[]): object[] {
  const flows = new Map<string, ModelEvent[]>();
  for (const event of events) flows.set(event.flow, [...(flows.get(event.flow) ?? []), event]);
  return events.flatMap((event) => {
    const ofFlow = flows.get(event.flow) ?? [];
    const first = ofFlow.find(({ transfer }) => transfer?.isStart === true) ?? ofFlow[0];
    return first === event && event.transfer !== undefined ? [receiptOf(event.transfer, ofFlow)] : [];
  });
}

/** What a user is shown of the own transfers: the first started last, and nothing of others. */
export async function checkReceipts(world: World, rest: Rest, draw: Draw): Promise<void> {
  const { organization } = rest;
  const user = draw.pickAny(organization.users.filter(({ state }) => state === 'good'));
  const own = rest.events.filter(({ event }) => event.transfer?.email === user?.email);
  if (user === undefined || organization.policyUnsure || own.some(({ isSure }) => !isSure)) return;
  const [limit, offset] = [draw.pick([1000, 3]), draw.pick([0, 0, 2])];
  const path = `/api/v1/portal/receipts?limit=${limit}&offset=${offset}`;
  const answer = await world.ask(path, { organization, headers: { cookie: user.cookie } });
  if (answer === undefined) return;
  const said = () => `${path} of ${user.email}: ${answer.status} ${brief(answer.text)}`;
  hold(answer.status === (organization.receipts === 'off' ? 403 : 200), 'receipts are what they are', said);
  if (answer.status !== 200) return;
  const { data, meta } = JSON.parse(answer.text) as { data: object[]; meta: { total: number } };
  const all = receiptsOf(own.map(({ event }) => event));
  const expected = all.slice(offset, offset + limit);
  hold(
    meta.total === all.length && isDeepStrictEqual(data, expected),
    'receipts are what they are',
    () => `${said()}\nexpected ${all.length} in all: ${brief(JSON.stringify(expected))}`,
  );
}
