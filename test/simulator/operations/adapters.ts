import type { Draw } from '../draw.ts';
import { hold } from '../finding.ts';
import { limits } from '../limits.ts';
import { Batch, dayMicros, type ModelEvent, type ModelOrganization } from '../model.ts';
import type { Operation, World } from '../world.ts';
import { secretMark } from '../events.ts';
import { anyWriter, send } from './post.ts';

/** Records of other programs, and events that are refused beside good ones. */

interface Made {
  readonly events: readonly ModelEvent[];
  readonly texts: readonly string[];
}

/** Records whose rendering is not predicted: it must be the same on every way out, and be there once. */
function makeRecords(
  world: World,
  organization: ModelOrganization,
  draw: Draw,
  number: number,
  count: number,
  textOf: (id: string, millis: number) => string,
): Made {
  const noon = Math.floor(world.model.beganMicros / dayMicros) * dayMicros + dayMicros / 2;
  const events: ModelEvent[] = [];
  for (let index = 0; index < count; index++) {
    const id = `${organization.slug}.${number}.${index}`;
    const ageDays = draw.pick([50, 150]);
    const micros = noon - ageDays * dayMicros + draw.int(0, 100_000) * 1000;
    const text = textOf(id, micros / 1000);
    events.push({ id, text, isOpaque: true, micros, ageDays, persons: [], flow: '', action: 0 });
  }
  return { events, texts: events.map(({ text }) => text) };
}

function logLine(draw: Draw, id: string, millis: number): string {
  const secret = `${secretMark}${draw.int(0, 1e9)}`;
  return JSON.stringify({
    time: new Date(millis).toISOString(),
    level: draw.pick(['info', 'error', 30]),
    msg: `did something sim=${id}=`,
    actor: `user-${draw.int(1, 5)}@x.example`,
    action: 'file.read',
    request: { headers: { authorization: secret }, n: draw.int(0, 1e6) },
  });
}

function otlpRecord(draw: Draw, id: string, millis: number): string {
  const attributes = [
    { key: 'enduser.id', value: { stringValue: `user-${draw.int(1, 5)}` } },
    { key: 'password', value: { stringValue: `${secretMark}${draw.int(0, 1e9)}` } },
  ];
  return JSON.stringify({
    timeUnixNano: `${millis}000000`,
    severityText: 'INFO',
    eventName: 'thing.done',
    body: { stringValue: `sim=${id}=` },
    attributes,
  });
}

async function post(world: World, organization: ModelOrganization, batch: Batch): Promise<string> {
  world.model.events += batch.events.length;
  organization.add(batch);
  const answer = await send(world, organization, batch);
  return `${organization.slug}: request ${batch.number}, ${batch.events.length} records to ${batch.path}: ${answer?.status ?? 'no answer'}`;
}

const logLines: Operation = {
  name: 'post log lines of another program',
  weight: 2,
  kind: 'actor',
  run: async (world, draw) => {
    const organization = anyWriter(world, draw);
    if (organization === undefined || world.model.events > limits.eventsOfRunMax) return undefined;
    const number = world.model.nextBatch();
    const made = makeRecords(world, organization, draw, number, draw.int(1, 60), (id, millis) =>
      logLine(draw, id, millis),
    );
    const idempotencyKey = draw.chance(0.5) ? `request-${number}` : undefined;
    const headers = {
      'x-api-key': draw.pick(organization.goodKeys.filter(({ scopes }) => scopes.includes('write'))).text,
      'content-type': 'application/x-ndjson',
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    };
    const body = Buffer.from(made.texts.join('\n'));
    return post(
      world,
      organization,
      new Batch({
        number,
        events: made.events,
        headers,
        path: '/api/v1/audit?from=json',
        body,
        idempotencyKey,
      }),
    );
  },
};

const otlp: Operation = {
  name: 'post OTLP',
  weight: 1.5,
  kind: 'actor',
  run: async (world, draw) => {
    const organization = anyWriter(world, draw);
    if (organization === undefined || world.model.events > limits.eventsOfRunMax) return undefined;
    const number = world.model.nextBatch();
    const made = makeRecords(world, organization, draw, number, draw.int(1, 60), (id, millis) =>
      otlpRecord(draw, id, millis),
    );
    const headers = {
      'x-api-key': draw.pick(organization.goodKeys.filter(({ scopes }) => scopes.includes('write'))).text,
      'content-type': 'application/json',
    };
    const resource = '{"attributes":[{"key":"service.name","value":{"stringValue":"sim"}}]}';
    const body = Buffer.from(
      `{"resourceLogs":[{"resource":${resource},"scopeLogs":[{"logRecords":[${made.texts.join(',')}]}]}]}`,
    );
    return post(
      world,
      organization,
      new Batch({ number, events: made.events, headers, path: '/v1/logs', body, idempotencyKey: undefined }),
    );
  },
};

const refused = [
  '{"message":{"timestamp":"never","action":1}}',
  '{"message":{"timestamp":"2024-05-06T07:08:09Z"}}',
  '{"message":{"timestamp":1700000000,"action":1}}',
  '{"message":{"timestamp":"2024-05-06T07:08:09Z","action":1,"org":"another"}}',
  '{"a":"\\ud800"}',
  '[]',
];

/** Requests of which nothing is good leave nothing. */
const rejected: Operation = {
  name: 'post what is refused',
  weight: 1,
  kind: 'actor',
  run: async (world, draw) => {
    const organization = anyWriter(world, draw);
    if (organization === undefined) return undefined;
    const lines = Array.from({ length: draw.int(1, 20) }, () => draw.pick(refused));
    const answer = await world.ask('/api/v1/audit', {
      organization,
      method: 'POST',
      headers: {
        'x-api-key': draw.pick(organization.goodKeys.filter(({ scopes }) => scopes.includes('write'))).text,
        'content-type': 'application/x-ndjson',
        connection: 'close',
      },
      body: lines.join('\n'),
      mayBeBusy: true,
    });
    if (answer === undefined || [401, 503].includes(answer.status)) return undefined;
    hold(answer.status === 400, 'bad events are refused', () => `${answer.status} ${answer.text}`);
    return `${organization.slug}: ${lines.length} events refused`;
  },
};

export const adapters: readonly Operation[] = [logLines, otlp, rejected];
