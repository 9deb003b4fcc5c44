import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { acceptedOf, type AuditEvent, pageOf } from '../support/http.ts';
import {
  createTenant,
  sourceEvent,
  type SharedServer,
  type Tenant,
  untilReadable,
} from '../support/server.ts';
import { productNames, sharedServer } from '../support/shared.ts';

let server: SharedServer;
let tenant: Tenant;

before(async () => {
  server = await sharedServer();
  tenant = await createTenant(server, 'fields');
});

/** The audit event that a source event becomes; `raw` is its text inside the page. */
async function rendered(event: object | string): Promise<{ event: AuditEvent; raw: string }> {
  const flow = randomUUID();
  const text = typeof event === 'string' ? event : JSON.stringify(event);
  // The event is found by a file hash, so that events without a flow can be looked at too.
  const tagged = text.replace('"message":{', `"message":{"sender":{"hash":"${flow}"},`);
  assert.notEqual(tagged, text);
  assert.deepEqual(acceptedOf(await tenant.post(tagged)), { accepted: 1, rejected: 0, errors: [] });
  return untilReadable('the event to be readable', async () => {
    const answer = await tenant.get({ fileHash: flow });
    const [found] = pageOf(answer).data;
    return found && { event: found, raw: answer.text };
  });
}

const render = async (event: object | string) => (await rendered(event)).event;

/** Tests beside each other: their events reach the engine together, which takes as long as one. */
const together = { concurrency: true };

/** The same within a test. */
const each = <T>(items: readonly T[], look: (item: T) => Promise<void>) => Promise.all(items.map(look));

describe('constants', together, () => {
  test('category, class and type are the same on every event; type_name and result_code are absent', async () => {
    await each([1001, 2001, 6720, 42, { code: 9999, title: 'Anything' }], async (action) => {
      const event = await render(sourceEvent({ action }));
      assert.equal(event['category_name'], 'Audit');
      assert.equal(event['category_uid'], 3);
      assert.equal(event['class_name'], 'Application Activity');
      assert.equal(event['class_uid'], 3001);
      assert.equal(event['type_uid'], 300101);
      assert.ok(!('type_name' in event));
      assert.ok(!('result_code' in event));
    });
  });

  test('metadata: product, vendor and schema version; actor.app_name is the configured text', async () => {
    const event = await render(sourceEvent());
    assert.deepEqual(event.metadata['product'], {
      name: productNames.PRODUCT_NAME,
      vendor_name: productNames.VENDOR_NAME,
    });
    assert.equal(event.metadata['version'], '1.1.0');
    assert.equal(event.actor.app_name, productNames.APP_NAME);
  });
});

describe('the least and the most an event can say', together, () => {
  test('an event with nothing optional has exactly the members that are always there', async () => {
    const event = await render(sourceEvent({ action: 1001 }));
    assert.deepEqual(Object.keys(event).sort(), [
      'activity_id',
      'activity_name',
      'actor',
      'category_name',
      'category_uid',
      'class_name',
      'class_uid',
      'message',
      'metadata',
      'severity',
      'severity_id',
      'status',
      'status_id',
      'time',
      'type_uid',
    ]);
    assert.deepEqual(event.actor, { app_name: productNames.APP_NAME });
    assert.deepEqual(Object.keys(event.metadata).sort(), ['logged_time', 'product', 'version']);
  });

  test('an event with everything', async () => {
    const flow = randomUUID();
    const before = Date.now() * 1000;
    const source = {
      time: '2024-05-06T07:08:10Z',
      level: 'WARN',
      msg: 'Ana uploaded a report',
      message: {
        timestamp: '2024-05-06T09:08:09.123456789+02:00',
        actor: { id: 'u-17', name: 'Ana Díaz', email: 'Ana@Acme.example', type: 'User' },
        action: { code: 2001, title: 'Report uploaded' },
        target: { id: 't-1', name: 'Q1 – Bericht.pdf', type: 'file' },
        result: { title: 'Done', description: 'stored', code: 403, detail: 'quota nearly used up' },
        remote: { ip: '2001:db8::7', port: 51_234 },
        extra: { fileName: 'Q1 – Bericht.pdf', fileSize: 48_213, ok: true },
        flow_id: flow,
        log: { provider: 'edge-3', version: '2.4' },
      },
    };
    const { logged_time: loggedTime, ...metadata } = (await render(source)).metadata;
    const event = await render(source);
    assert.ok(loggedTime >= before && loggedTime <= (Date.now() + 1) * 1000);
    assert.deepEqual(
      { ...event, metadata },
      {
        category_name: 'Audit',
        category_uid: 3,
        class_name: 'Application Activity',
        class_uid: 3001,
        type_uid: 300101,
        time: Date.UTC(2024, 4, 6, 7, 8, 9) * 1000 + 123_456,
        activity_id: 2001,
        activity_name: 'Report uploaded',
        severity: 'Medium',
        severity_id: 3,
        status: 'Failure',
        status_id: 2,
        status_detail: 'quota nearly used up',
        message: 'Ana uploaded a report',
        actor: {
          user: { name: 'Ana Díaz', email_addr: 'Ana@Acme.example', type: 'User' },
          app_name: productNames.APP_NAME,
        },
        src_endpoint: { ip: '2001:db8::7', port: 51_234 },
        flow_id: flow,
        enrichments: [
          { name: 'fileName', value: 'Q1 – Bericht.pdf' },
          { name: 'fileSize', value: '48213' },
          { name: 'ok', value: 'true' },
        ],
        extra_map: { fileName: 'Q1 – Bericht.pdf', fileSize: 48_213, ok: true },
        metadata: {
          log_provider: 'edge-3',
          log_version: '2.4',
          product: { name: productNames.PRODUCT_NAME, vendor_name: productNames.VENDOR_NAME },
          version: '1.1.0',
        },
      },
    );
  });
});

describe('time', together, () => {
  const cases: readonly [timestamp: string | number, micros: number][] = [
    ['1970-01-01T00:00:00Z', 0],
    [0, 0],
    [100_000_000_000_000, 100_000_000_000_000],
    ['2024-01-01 02:00:00.5+0200', Date.UTC(2024, 0, 1) * 1000 + 500_000],
    ['2200-01-01T00:00:00Z', 7_258_118_400_000_000],
    [7_258_118_400_000_000, 7_258_118_400_000_000],
    ['2199-12-31T23:59:59.999999Z', 7_258_118_399_999_999],
    ['2024-02-29T23:59:59.999999999Z', Date.UTC(2024, 1, 29, 23, 59, 59) * 1000 + 999_999],
    ['2024-01-01T00:00:00.1Z', Date.UTC(2024, 0, 1) * 1000 + 100_000],
    ['2024-01-01T00:00:00.000001Z', Date.UTC(2024, 0, 1) * 1000 + 1],
    ['2024-01-01T00:00:00.0000019Z', Date.UTC(2024, 0, 1) * 1000 + 1],
    ['2024-01-01T00:00:00-00:00', Date.UTC(2024, 0, 1) * 1000],
    ['2024-01-01T05:45:00+05:45', Date.UTC(2024, 0, 1) * 1000],
    ['2023-12-31T12:30:00-11:30', Date.UTC(2024, 0, 1) * 1000],
    [1_714_979_289_123_456, 1_714_979_289_123_456],
  ];
  test('occurred-at in whole microseconds, cut and never rounded', async () => {
    await each(cases, async ([timestamp, micros]) => {
      assert.equal((await render(sourceEvent({ timestamp }))).time, micros, String(timestamp));
    });
  });

  test('the outer time stands in for a missing message.timestamp, and only then', async () => {
    const both = sourceEvent({ timestamp: 500_000_000_000_000 }, { time: 700_000_000_000_000 });
    assert.equal((await render(both)).time, 500_000_000_000_000);
    const outer = { time: 700_000_000_000_000, message: { action: 1001 } };
    assert.equal((await render(outer)).time, 700_000_000_000_000);
    const text = { time: '2024-01-01T00:00:00.5Z', message: { action: 1001 } };
    assert.equal((await render(text)).time, Date.UTC(2024, 0, 1) * 1000 + 500_000);
  });

  test('logged_time is when the page was made: it lies inside the request and moves with each one', async () => {
    const flow = randomUUID();
    await tenant.record([sourceEvent({ flow_id: flow }), sourceEvent({ flow_id: flow })]);
    await tenant.settled(2, { flowId: flow });
    let last = 0;
    for (let n = 0; n < 3; n++) {
      const from = Date.now() * 1000;
      const page = await tenant.page({ flowId: flow });
      const to = (Date.now() + 1) * 1000;
      for (const event of page.data) {
        const loggedTime = event.metadata.logged_time;
        assert.ok(Number.isSafeInteger(loggedTime));
        assert.ok(loggedTime >= from && loggedTime <= to, `${from} <= ${loggedTime} <= ${to}`);
      }
      const newest = Math.max(...page.data.map((event) => event.metadata.logged_time));
      assert.ok(newest > last);
      last = newest;
    }
  });
});

describe('activity', together, () => {
  test('activity_id is the code, as a number or inside an object, also outside every range', async () => {
    const codes = [1000, 2021, 6729, 0, -1, 999, 7000, 123_456_789, 2 ** 53 - 1, -(2 ** 53 - 1)];
    await each(codes, async (code) => {
      assert.equal((await render(sourceEvent({ action: code }))).activity_id, code);
      assert.equal((await render(sourceEvent({ action: { code } }))).activity_id, code);
    });
  });

  test("activity_name: the producer's title, else the registry's, else the family's, else the code's", async () => {
    const name = async (action: unknown) => (await render(sourceEvent({ action }))).activity_name;
    assert.equal(await name({ code: 1001, title: 'Signed in' }), 'Signed in');
    const registered: Record<number, RegExp> = {
      1000: /^user created$/i,
      1001: /^login succeeded$/i,
      1002: /^login failed$/i,
      1003: /^logged out$/i,
      1300: /^api key created$/i,
      2000: /^upload started$/i,
      2001: /^upload completed$/i,
      2002: /^download started$/i,
      2003: /^download completed$/i,
      2010: /^file deleted$/i,
      2020: /^stream started$/i,
      2021: /^stream completed$/i,
    };
    await each(Object.entries(registered), async ([code, pattern]) => {
      assert.match(await name(Number(code)), pattern);
      assert.match(await name({ code: Number(code), title: '' }), pattern);
    });
    // Codes at the far end of each family's range, where a name of their own is least likely.
    const ends = [
      1099, 1199, 1299, 1399, 2099, 2199, 3099, 4099, 5099, 6099, 6199, 6299, 6399, 6499, 6599, 6699,
    ];
    await each([...ends, 6709, 6719, 6729], async (code) => {
      const text = await name(code);
      if (text.endsWith(String(code))) assert.match(text, new RegExp(`^\\S.* activity ${code}$`));
      assert.notEqual(text, `Activity ${code}`);
    });
    await each([42, 999, 1400, 2200, 3100, 6730, 10_000], async (code) => {
      assert.equal(await name(code), `Activity ${code}`);
    });
  });
});

describe('severity and status', together, () => {
  test('severity follows the level', async () => {
    const table: readonly [level: string | undefined, severity: string, id: number][] = [
      ['INFO', 'Informational', 1],
      ['WARN', 'Medium', 3],
      ['ERROR', 'High', 4],
      ['DEBUG', 'Informational', 1],
      ['FATAL', 'Informational', 1],
      ['', 'Informational', 1],
      [undefined, 'Informational', 1],
    ];
    await each(table, async ([level, severity, id]) => {
      const event = await render(sourceEvent({}, level === undefined ? {} : { level }));
      assert.deepEqual([event.severity, event.severity_id], [severity, id], String(level));
    });
  });

  test('status follows the result code: below 400 is success', async () => {
    const success = [undefined, 200, 0, -5, 100, 301, 399];
    await each(success, async (code) => {
      const event = await render(sourceEvent({ result: code === undefined ? { title: 'x' } : { code } }));
      assert.deepEqual([event.status, event.status_id], ['Success', 1], String(code));
    });
    await each([400, 401, 404, 500, 599, 1000, 2 ** 31], async (code) => {
      const event = await render(sourceEvent({ result: { code } }));
      assert.deepEqual([event.status, event.status_id], ['Failure', 2], String(code));
    });
    assert.equal((await render(sourceEvent())).status, 'Success');
  });

  test('severity and status do not depend on each other', async () => {
    const event = await render(sourceEvent({ result: { code: 500 } }, { level: 'INFO' }));
    assert.deepEqual([event.severity_id, event.status_id], [1, 2]);
    const reverse = await render(sourceEvent({ result: { code: 200 } }, { level: 'ERROR' }));
    assert.deepEqual([reverse.severity_id, reverse.status_id], [4, 1]);
  });

  test('status_detail only when the source has one', async () => {
    assert.equal((await render(sourceEvent({ result: { detail: 'why' } })))['status_detail'], 'why');
    assert.ok(!('status_detail' in (await render(sourceEvent({ result: { code: 200, detail: '' } })))));
  });
});

describe('message', together, () => {
  test('msg, else title and description, else the activity name', async () => {
    const message = async (result: object, rest: object = {}) =>
      (await render(sourceEvent({ action: { code: 2001, title: 'Named' }, result }, rest))).message;
    const result = { title: 'Denied', description: 'no such file' };
    assert.equal(await message(result, { msg: 'Said directly' }), 'Said directly');
    assert.equal(await message(result), 'Denied: no such file');
    assert.equal(await message(result, { msg: '' }), 'Denied: no such file');
    assert.equal(await message({ title: 'Denied' }), 'Denied');
    assert.equal(await message({ description: 'no such file', title: '' }), 'no such file');
    assert.equal(await message({}), 'Named');
    assert.match((await render(sourceEvent({ action: 2001 }))).message, /^upload completed$/i);
  });
});

describe('actor', together, () => {
  test('a string is the e-mail address, an object gives what it has; the id is not shown', async () => {
    const user = async (actor: unknown) => (await render(sourceEvent({ actor }))).actor.user;
    assert.deepEqual(await user('Ana@Acme.example'), { email_addr: 'Ana@Acme.example' });
    assert.deepEqual(await user({ email: 'a@x.example' }), { email_addr: 'a@x.example' });
    assert.deepEqual(await user({ name: 'Ana' }), { name: 'Ana' });
    assert.deepEqual(await user({ type: 'App/System' }), { type: 'App/System' });
    assert.equal(await user({ id: 'u-1' }), undefined);
    assert.equal(await user({ name: '', email: '' }), undefined);
    assert.equal(await user(''), undefined);
    assert.equal(await user({}), undefined);
  });
});

describe('src_endpoint', together, () => {
  test('address and port, each only when there', async () => {
    const endpoint = async (remote: object) => (await render(sourceEvent({ remote }))).src_endpoint;
    assert.deepEqual(await endpoint({ ip: '203.0.113.7', port: 0 }), { ip: '203.0.113.7', port: 0 });
    assert.deepEqual(await endpoint({ ip: '::ffff:203.0.113.7' }), { ip: '::ffff:203.0.113.7' });
    assert.deepEqual(await endpoint({ ip: 'AWS Internal' }), { ip: 'AWS Internal' });
    assert.deepEqual(await endpoint({ port: 65_535 }), { port: 65_535 });
    assert.equal(await endpoint({}), undefined);
  });
});

describe('flow_id', together, () => {
  test('the flow, found in any case; absent when the source has none', async () => {
    const flow = randomUUID();
    const event = await render(sourceEvent({ flow_id: flow.toUpperCase() }));
    assert.equal(event.flow_id?.toLowerCase(), flow);
    assert.ok(!('flow_id' in (await render(sourceEvent({ flow_id: '' })))));
  });
});

describe('log provider and version', together, () => {
  test('each only when there', async () => {
    const metadata = async (log: object) => (await render(sourceEvent({ log }))).metadata;
    assert.equal((await metadata({ provider: 'edge' }))['log_provider'], 'edge');
    assert.ok(!('log_version' in (await metadata({ provider: 'edge', version: '' }))));
    assert.equal((await metadata({ version: '9' }))['log_version'], '9');
    assert.ok(!('log_provider' in (await metadata({ version: '9' }))));
  });
});

describe('extra_map and enrichments', together, () => {
  const extra = {
    text: 'as it is',
    'key with "quotes" and ünïcode 日本': 'line\nbreak\ttab "quote" \\ 🎉 </script>',
    empty: '',
    number: 12.5,
    yes: true,
    no: false,
    nothing: null,
    list: [1, 'two', null, { three: 3 }],
    object: { deep: { deeper: [[]] } },
    __proto__x: 1,
  };

  test('the same keys in the same order; strings as they are, other values as JSON text', async () => {
    const event = await render(sourceEvent({ extra }));
    assert.deepEqual(event.extra_map, extra);
    assert.deepEqual(
      event.enrichments,
      Object.entries(extra).map(([name, value]) => ({
        name,
        value: typeof value === 'string' ? value : JSON.stringify(value),
      })),
    );
  });

  test('numbers keep their digits', async () => {
    const digits =
      '{"big":12345678901234567890,"more":0.1000000000000000055511151231257827,"neg":-0,"e":1E5,"t":1.10}';
    const { event, raw } = await rendered(
      `{"message":{"timestamp":"2024-01-01T00:00:00Z","action":1,"extra":${digits}}}`,
    );
    assert.ok(raw.includes(digits), raw);
    assert.deepEqual(
      event.enrichments?.map((entry) => entry.value),
      ['12345678901234567890', '0.1000000000000000055511151231257827', '-0', '1E5', '1.10'],
    );
  });

  test('keys such as __proto__ and constructor are ordinary', async () => {
    const text = '{"__proto__":{"x":1},"constructor":"c","toString":2,"":3}';
    const { event, raw } = await rendered(
      `{"message":{"timestamp":"2024-01-01T00:00:00Z","action":1,"extra":${text}}}`,
    );
    assert.ok(raw.includes(text), raw);
    assert.deepEqual(
      event.enrichments?.map((entry) => entry.name),
      ['__proto__', 'constructor', 'toString', ''],
    );
  });

  test('secrets are replaced at any depth, in any case and spelling, and never come back', async () => {
    const secret = `s3cr3t-${randomUUID()}`;
    const inner = `{"Password":"${secret}","kept":1,"list":[{"TOKEN":{"x":"${secret}"}},["a",{"otp":["${secret}"]}]]}`;
    const text =
      `{"password":"${secret}","mfa_secret":"${secret}","MFA_Secret":"${secret}","secret":7,"authorization":"","token":null,"X-Api-Key":"${secret}","headers":[{"value":"${secret}","name":"Cookie"}],` +
      `"p\\u0061ssword":"${secret}","deep":${inner},"password_hint":"stays","note":"password"}`;
    const { event, raw } = await rendered(
      `{"message":{"timestamp":"2024-01-01T00:00:00Z","action":1,"extra":${text}}}`,
    );
    assert.ok(!raw.includes(secret), raw);
    const map = event.extra_map ?? {};
    for (const key of ['password', 'mfa_secret', 'MFA_Secret', 'secret', 'authorization']) {
      assert.equal(map[key], '[redacted]', key);
    }
    assert.equal(map['token'], null);
    assert.equal(map['X-Api-Key'], '[redacted]');
    assert.deepEqual(map['headers'], [{ value: '[redacted]', name: 'Cookie' }]);
    assert.deepEqual(map['deep'], {
      Password: '[redacted]',
      kept: 1,
      list: [{ TOKEN: '[redacted]' }, ['a', { otp: '[redacted]' }]],
    });
    assert.equal(map['password_hint'], 'stays');
    assert.equal(map['note'], 'password');
    for (const entry of event.enrichments ?? []) assert.ok(!entry.value.includes(secret));
  });
});

describe('texts', together, () => {
  test('every string comes back as it was sent', async () => {
    const odd =
      'quote " back \\ slash / tab \t nl \n cr \r bs \b ff \f nul-free \u0001 \u007f \u2028\u2029 é 日本 🎉 \u{10FFFF} </b>';
    const event = await render(
      sourceEvent(
        {
          action: { code: 1, title: odd },
          actor: { name: odd, email: odd, type: odd },
          result: { detail: odd },
          log: { provider: odd, version: odd },
          extra: { [odd]: odd },
        },
        { msg: odd },
      ),
    );
    assert.equal(event.message, odd);
    assert.equal(event.activity_name, odd);
    assert.equal(event['status_detail'], odd);
    assert.deepEqual(event.actor.user, { name: odd, email_addr: odd, type: odd });
    assert.equal(event.metadata['log_provider'], odd);
    assert.equal(event.metadata['log_version'], odd);
    assert.deepEqual(event.extra_map, { [odd]: odd });
    assert.deepEqual(event.enrichments, [{ name: odd, value: odd }]);
  });

  test('an optional member is absent, never null', async () => {
    const page = await tenant.get('limit=1000');
    const visit = (value: unknown, path: string): void => {
      assert.notEqual(value, null, path);
      if (typeof value !== 'object' || value === null) return;
      for (const [key, inner] of Object.entries(value))
        if (key !== 'extra_map') visit(inner, `${path}/${key}`);
    };
    visit(JSON.parse(page.text), '');
  });
});
