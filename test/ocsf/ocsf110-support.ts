import { strict as assert } from 'node:assert';
import * as fc from 'fast-check';
import { Ocsf110Mapper } from '../../src/ocsf/ocsf110/ocsf110-event.ts';
import { validateEvent } from '../../src/ocsf/ocsf110/validate.ts';
import { meaning, memberOf, type Node, parseTree } from '../fuzz/tree.ts';
import { map, organization, storableJson, storableString } from './arbitrary.ts';

/** Source events of every kind and their events of OCSF 1.1.0, compared with the schema and the source. */

const mapper = new Ocsf110Mapper({ vendorName: 'Vendor "V"', productName: 'Prüfung', appName: 'App\n1' });

export const facts = {
  organization: organization.id,
  seq: '468374361246531585',
  loggedMs: 1_780_000_000_123,
};

/** The text of the event of a stored source. */
export function ocsf110Text(source: string, timeMicros = 1_700_000_000_123_456): string {
  const bytes = Buffer.from(source);
  mapper.open(bytes);
  mapper.map(0, bytes.length, { ...facts, timeMicros });
  return Buffer.from(mapper.events()).toString('utf8');
}

/** As deep as tests look. */
// oxlint-disable-next-line typescript/no-explicit-any -- of each class other members
export type OcsfEvent = Readonly<Record<string, any>>;

/** The event of an accepted source event. */
export function ocsf110Of(sent: unknown): OcsfEvent {
  const row = map(sent);
  if (typeof row === 'string') throw new Error(`refused: ${row}`);
  return JSON.parse(ocsf110Text(row.source, row.timeMicros)) as OcsfEvent;
}

const at = (node: Node | undefined, path: string): Node | undefined =>
  path.split('.').reduce((one, name) => memberOf(one, name), node);
const textOf = (node: Node | undefined): string | undefined =>
  node === undefined ? undefined : meaning(node);

const known = {
  event: ['time', 'level', 'msg', 'message'],
  message: 'timestamp actor action target result remote sender extra flow_id log org'.split(' '),
};

/** Compares the event of a source with the schema and, for fields kept as sent, with the source. */
export function checkSource(source: string, timeMicros: number): void {
  const text = ocsf110Text(source, timeMicros);
  const event = JSON.parse(text) as OcsfEvent;
  assert.deepEqual(validateEvent(event), [], `${source}\n${text}`);
  assert.equal(event['unmapped'].time_us, timeMicros);
  assert.equal(event['time'], Math.floor(timeMicros / 1000));
  const [from, to] = [parseTree(source), parseTree(text)];
  for (const name of ['target', 'sender', 'extra', 'org']) {
    const sent = textOf(at(from, `message.${name}`));
    if (sent !== undefined && sent !== 'null' && sent !== '""')
      assert.equal(textOf(at(to, `unmapped.${name}`)), sent, `${name} of ${source}`);
  }
  for (const [owner, names] of Object.entries(known)) {
    const held = owner === 'event' ? from : memberOf(from, owner);
    if (held === undefined || !('members' in held)) continue;
    for (const { name } of held.members) {
      if (names.includes(name)) continue;
      assert.equal(textOf(memberOf(at(to, `unmapped.${owner}`), name)), textOf(memberOf(held, name)), source);
    }
  }
}

const digits = fc.constantFrom('0', '-1', '12345678901234567890123', '1.10', '2E3', '9007199254740993');
/** Placeholder of a number until its digits are inserted. */
const numberToken = digits.map((token) => `@number ${token}`);
const long = fc.constantFrom('x', 'é', '😀', '\\', '\u2028').map((unit) => unit.repeat(66_000 / unit.length));
const text = fc.oneof(
  { weight: 12, arbitrary: storableString },
  {
    weight: 6,
    arbitrary: fc.constantFrom('report.pdf', 'Ann Other', 'User', 'app/system', 'folder', 'session', 'group'),
  },
  { weight: 4, arbitrary: fc.constantFrom('ann@example.com', 'a/b\\c', 'A@B', 'x@y.z', '"q"@example.com') },
);
const maybeLong = fc.oneof({ weight: 200, arbitrary: text }, { weight: 1, arbitrary: long });
const place = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.domain(),
  fc.constantFrom('AWS Internal', '::ffff:10.0.0.1', 'fe80::1%eth0', '999.1.1.1', '1.2.3', '', '-a.b'),
);
const hash = fc.oneof(
  ...[32, 40, 64, 128, 7].map((length) =>
    fc.string({
      unit: fc.constantFrom(...Array.from('0123456789abcdefAF')),
      minLength: length,
      maxLength: length,
    }),
  ),
  text,
);
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null | undefined> =>
  fc.oneof({ weight: 6, arbitrary: value }, { weight: 1, arbitrary: fc.constantFrom(null, undefined) });
const members = (shape: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<object> =>
  fc
    .tuple(
      fc.record(shape, { requiredKeys: [] }),
      fc.oneof(
        { weight: 8, arbitrary: fc.constant({}) },
        { weight: 1, arbitrary: fc.dictionary(text, storableJson, { maxKeys: 3 }) },
      ),
    )
    .map(([fields, others]) => ({ ...others, ...fields }));
const privileges = fc.oneof(text, fc.array(text, { maxLength: 3 }), storableJson);
const extra = members({
  fileName: text,
  fileSize: fc.oneof(fc.nat(), numberToken, text),
  fileHash: hash,
  role: privileges,
  permissions: privileges,
  member: fc.oneof(text, storableJson),
  nested: storableJson,
  number: numberToken,
});
const time = fc.oneof(
  fc
    .date({ min: new Date(0), max: new Date('2199-12-31'), noInvalidDate: true })
    .map((date) => date.toISOString()),
  fc.constantFrom(
    '2026-05-04T10:20:30.123456789+05:30',
    '2026-05-04 10:20:30-0800',
    '1970-01-01T00:00:00.5Z',
  ),
  fc.integer({ min: 1e14, max: 7e15 }),
);

/** The text of an accepted source event, with one of these codes or any. */
export function sourceText(codes: readonly number[]): fc.Arbitrary<string> {
  const code = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...codes) },
    { weight: 1, arbitrary: fc.integer() },
  );
  const message = fc.tuple(
    fc.record({
      action: fc.oneof(code, fc.record({ code, title: optional(maybeLong) }, { requiredKeys: ['code'] })),
      timestamp: time,
    }),
    members({
      actor: optional(
        fc.oneof(text, members({ id: maybeLong, name: maybeLong, email: maybeLong, type: text })),
      ),
      target: optional(fc.oneof(text, members({ id: maybeLong, name: maybeLong, type: text }))),
      result: optional(
        members({
          title: maybeLong,
          description: maybeLong,
          code: fc.constantFrom(200, 404, 500, -1),
          detail: maybeLong,
        }),
      ),
      remote: optional(members({ ip: place, port: fc.nat(65_535) })),
      sender: optional(members({ file: maybeLong, email: text, hash })),
      extra: optional(extra),
      flow_id: optional(fc.uuid()),
      log: optional(members({ provider: maybeLong, version: text })),
      org: optional(fc.constant('acme')),
    }),
  );
  const event = fc.tuple(
    message,
    members({ time, level: fc.constantFrom('INFO', 'WARN', 'ERROR', 'odd'), msg: maybeLong }),
  );
  return event.map(([[fixed, others], top]) =>
    JSON.stringify({ ...top, message: { ...others, ...fixed } }).replaceAll(/"@number ([^"]+)"/g, '$1'),
  );
}

/** Checks a source event as ingest would store it; false if ingest refuses it. */
export function checkSent(sent: string): boolean {
  const row = map(sent);
  if (typeof row === 'string') return false;
  checkSource(row.source, row.timeMicros);
  return true;
}
