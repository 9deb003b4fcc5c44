import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { Zstd } from '@hpcc-js/wasm-zstd';
import type { HttpAnswer } from '../../support/http.ts';
import type { Draw } from '../draw.ts';
import { type Kind, makeEvent } from '../events.ts';
import { brief, hold } from '../finding.ts';
import { limits } from '../limits.ts';
import { Batch } from '../batch.ts';
import type { ModelOrganization } from '../model.ts';
import type { Operation, World } from '../world.ts';

/** Sends events in every form and encoding, with and without an Idempotency-Key. */

export const postPath = '/api/v1/audit?maxErrors=10000';

const zstd = await Zstd.load();

const codings = {
  identity: (body: Buffer) => body,
  gzip: (body: Buffer) => gzipSync(body, { level: 1 }),
  deflate: (body: Buffer) => deflateSync(body, { level: 1 }),
  br: (body: Buffer) => brotliCompressSync(body, { params: { 1: 1 } }),
  zstd: (body: Buffer) => Buffer.from(zstd.compress(body)),
} as const;

interface Wanted {
  /** The first event is of the first kind. */
  readonly kinds: readonly [Kind, ...Kind[]];
  readonly count: number;
  readonly ages: readonly number[];
  readonly isKeyed?: boolean;
}

function drawIdempotencyKey(draw: Draw, isKeyed: boolean | undefined, number: number): string | undefined {
  if (isKeyed === false || (isKeyed === undefined && draw.chance(0.5))) return undefined;
  return draw.chance(0.2) ? 'body' : `request-${number}`;
}

function makeBatch(world: World, organization: ModelOrganization, draw: Draw, wanted: Wanted): Batch {
  const number = world.model.nextBatch();
  const { beganMicros } = world.model;
  const form = wanted.count === 1 ? draw.pick(['object', 'array', 'lines']) : draw.pick(['array', 'lines']);
  const isLines = form === 'lines';
  const events = Array.from({ length: wanted.count }, (_, index) => {
    const place = {
      organization,
      batch: number,
      index,
      beganMicros,
      ageDays: draw.pick(wanted.ages),
      isLines,
    };
    // A request without any valid event is not remembered.
    return makeEvent(draw, index === 0 ? wanted.kinds[0] : draw.pick(wanted.kinds), place);
  });
  const between = Buffer.from(isLines ? '\n' : draw.pick([',', ' , ', ',\n']));
  const pieces = events.flatMap(({ text, damaged }) => [between, damaged ?? Buffer.from(text)]).slice(1);
  const body = form === 'array' ? [Buffer.from('['), ...pieces, Buffer.from(']')] : pieces;
  const coding = draw.pick(Object.keys(codings) as (keyof typeof codings)[]);
  const idempotencyKey = drawIdempotencyKey(draw, wanted.isKeyed, number);
  const headers = {
    ...organization.writing(draw, isLines ? 'application/x-ndjson' : 'application/json'),
    ...(coding !== 'identity' && { 'content-encoding': coding }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  };
  return new Batch({
    number,
    events,
    headers,
    body: codings[coding](Buffer.concat(body)),
    idempotencyKey,
  });
}

/** Sends a request of the model, perhaps twice, and notes the result. */
export async function send(
  world: World,
  organization: ModelOrganization,
  batch: Batch,
): Promise<HttpAnswer | undefined> {
  if (batch.state === 'absent') batch.doubt();
  const answer = await world.ask(postPath, {
    organization,
    method: 'POST',
    headers: { ...batch.headers, connection: 'close' },
    body: batch.body,
    mayBeBusy: true,
  });
  if (answer === undefined || [408, 429, 503].includes(answer.status)) return undefined;
  if (answer.status === 401 && organization.state !== 'here') return answer;
  const isOldKey =
    answer.status === 401 && !organization.goodKeys.some(({ text }) => text === batch.headers['x-api-key']);
  if (isOldKey) return answer;
  hold(
    answer.status === 202,
    'good events are accepted',
    () => `request ${batch.number} of ${organization.slug}: ${answer.status} ${brief(answer.text)}`,
  );
  hold(
    batch.answer === undefined || batch.answer === answer.text,
    'a repeat is answered as the first was',
    () => `request ${batch.number}: ${brief(answer.text)}, not ${brief(batch.answer ?? '')}`,
  );
  const { accepted, errors } = JSON.parse(answer.text) as { accepted: number; errors: { index: number }[] };
  const refused = new Set(errors.map(({ index }) => batch.sent[index]));
  organization.refuse(batch, refused);
  hold(
    accepted === batch.events.length && [...refused].every((one) => one?.damaged !== undefined),
    'good events are accepted',
    () => `request ${batch.number}: ${brief(answer.text)}`,
  );
  for (const event of batch.events)
    hold(
      event.damaged === undefined || event.micros >= 0,
      'bad events are refused',
      () => `request ${batch.number}: ${brief(event.text)}`,
    );
  batch.answer = answer.text;
  batch.end('stored');
  return answer;
}

/** Sends a new request. */
export async function post(
  world: World,
  organization: ModelOrganization,
  batch: Batch,
): Promise<number | undefined> {
  world.model.events += batch.events.length;
  organization.add(batch);
  return (await send(world, organization, batch))?.status;
}

export async function postEvents(
  world: World,
  organization: ModelOrganization,
  draw: Draw,
  wanted: Wanted,
): Promise<{ batch: Batch; status: number | undefined }> {
  const batch = makeBatch(world, organization, draw, wanted);
  return { batch, status: await post(world, organization, batch) };
}

/** Organizations that accept events. */
export function writersOf(world: World): readonly ModelOrganization[] {
  return world.model.here.filter(({ writes }) => writes);
}

export function anyWriter(world: World, draw: Draw): ModelOrganization | undefined {
  return draw.pickAny(writersOf(world));
}

const usualAges = [50, 150];

function posting(name: string, weight: number, wantedOf: (draw: Draw) => Omit<Wanted, 'ages'>): Operation {
  return {
    name,
    weight,
    kind: 'actor',
    run: async (world, draw) => {
      const organization = anyWriter(world, draw);
      const wanted = wantedOf(draw);
      if (organization === undefined || world.model.events + wanted.count > limits.eventsOfRunMax)
        return undefined;
      const { batch, status } = await postEvents(world, organization, draw, { ...wanted, ages: usualAges });
      const form = [
        batch.headers['content-type'],
        batch.headers['content-encoding'],
        batch.idempotencyKey,
      ].filter((one) => one !== undefined);
      return `${organization.slug}: request ${batch.number}, ${wanted.count} events (${form.join(', ')}): ${status ?? 'no answer'}`;
    },
  };
}

export const posts: readonly Operation[] = [
  posting('post a few', 8, (draw) => ({
    kinds: ['plain', 'person', 'secret', 'rich', 'damaged'],
    count: draw.int(1, limits.smallBatchEvents),
  })),
  posting('post damaged events', 2, (draw) => ({
    kinds: ['plain', 'damaged', 'damaged', 'damaged'],
    count: draw.int(1, 200),
  })),
  posting('post persons', 4, (draw) => ({ kinds: ['person', 'plain'], count: draw.int(1, 20) })),
  posting('post many', 3, (draw) => ({ kinds: ['plain'], count: draw.int(200, limits.largeBatchEvents) })),
  posting('post very many', 0.3, () => ({ kinds: ['plain'], count: limits.hugeBatchEvents })),
  posting('post big events', 1.5, (draw) => ({ kinds: ['big', 'plain'], count: draw.int(1, 40) })),
  posting('post large events', 0.7, (draw) => ({
    kinds: ['large'],
    count: draw.int(limits.largeEvents / 2, limits.largeEvents),
  })),
  posting('post statements', 1.5, (draw) => ({ kinds: ['statement', 'plain'], count: draw.int(1, 8) })),
];
