import { readFileSync } from 'node:fs';
import type { Draw } from '../draw.ts';
import { hold } from '../finding.ts';
import { limits } from '../limits.ts';
import { Batch } from '../batch.ts';
import { dayMicros, type ModelEvent, type ModelOrganization } from '../model.ts';
import type { Operation, World } from '../world.ts';
import { secretMark } from '../events.ts';
import { anyWriter, post } from './post.ts';

/** Records of other programs, and events that are refused beside good ones. */

const recordsMax = 60;

/** Records whose rendering is not predicted: it must be the same on every way out, and be there once. */
function makeRecords(
  world: World,
  organization: ModelOrganization,
  draw: Draw,
  number: number,
  record: Form['record'],
): readonly ModelEvent[] {
  const noon = Math.floor(world.model.beganMicros / dayMicros) * dayMicros + dayMicros / 2;
  return Array.from({ length: draw.int(1, recordsMax) }, (_, index): ModelEvent => {
    const id = `${organization.slug}.${number}.${index}`;
    const ageDays = draw.pick([50, 150]);
    const micros = noon - ageDays * dayMicros + draw.int(0, 100_000) * 1000;
    const text = record(draw, id, micros / 1000);
    return { id, text, isOpaque: true, micros, ageDays, persons: [], flow: '' };
  });
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

interface Form {
  readonly path: string;
  readonly contentType: string;
  record(draw: Draw, id: string, millis: number): string;
  body(texts: readonly string[]): string;
}

function postingRecords(name: string, weight: number, form: Form): Operation {
  return {
    name,
    weight,
    kind: 'actor',
    run: async (world, draw) => {
      const organization = anyWriter(world, draw);
      if (organization === undefined || world.model.events > limits.eventsOfRunMax) return undefined;
      const number = world.model.nextBatch();
      const events = makeRecords(world, organization, draw, number, form.record);
      const idempotencyKey = draw.chance(0.5) ? `request-${number}` : undefined;
      const headers = {
        ...organization.writing(draw, form.contentType),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      };
      const body = Buffer.from(form.body(events.map(({ text }) => text)));
      const { path } = form;
      const batch = new Batch({ number, events, headers, path, body, idempotencyKey });
      const status = await post(world, organization, batch);
      return `${organization.slug}: request ${number}, ${events.length} records to ${path}: ${status ?? 'no answer'}`;
    },
  };
}

const logLines = postingRecords('post log lines of another program', 2, {
  path: '/api/v1/audit?from=json',
  contentType: 'application/x-ndjson',
  record: logLine,
  body: (texts) => texts.join('\n'),
});

const otlpResource = '{"attributes":[{"key":"service.name","value":{"stringValue":"sim"}}]}';
const otlp = postingRecords('post OTLP', 1.5, {
  path: '/v1/logs',
  contentType: 'application/json',
  record: otlpRecord,
  body: (texts) =>
    `{"resourceLogs":[{"resource":${otlpResource},"scopeLogs":[{"logRecords":[${texts.join(',')}]}]}]}`,
});

/** Where the samples of other programs have their time, and in what form of an instant's milliseconds. */
const iso = (millis: number): unknown => new Date(millis).toISOString();
const times: Readonly<Record<string, readonly [member: string, of: (millis: number) => unknown]>> = {
  cloudtrail: ['eventTime', iso],
  github: ['@timestamp', (millis) => millis],
  kubernetes: ['requestReceivedTimestamp', iso],
  okta: ['published', iso],
};

/** The first record of a source's sample. */
function sampleOf(from: string): Record<string, unknown> {
  const ending = from === 'github' ? 'ndjson' : 'json';
  const text = readFileSync(new URL(`../../fixtures/adapters/${from}.${ending}`, import.meta.url), 'utf8');
  const value: unknown = JSON.parse(ending === 'ndjson' ? (text.split('\n')[0] ?? '') : text);
  const lists = Array.isArray(value) ? [value] : Object.values(value as object).filter(Array.isArray);
  return ((lists[0] as readonly object[] | undefined)?.[0] ?? value) as Record<string, unknown>;
}

function foreign([from, [member, timeOf]]: (typeof sources)[number]): Operation {
  const sample = sampleOf(from);
  return postingRecords(`post records of ${from}`, 0.1, {
    path: `/api/v1/audit?from=${from}&timeout=30s`,
    contentType: 'application/x-ndjson',
    record: (draw, id, millis) => {
      return JSON.stringify({
        ...sample,
        [member]: timeOf(millis),
        note: `sim=${id}=`,
        password: `${secretMark}${draw.int(0, 1e9)}`,
      });
    },
    body: (texts) => texts.join('\n'),
  });
}

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
        ...organization.writing(draw, 'application/x-ndjson'),
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

const sources = Object.entries(times);
const others = sources.map(foreign);

export const adapters: readonly Operation[] = [logLines, otlp, ...others, rejected];
