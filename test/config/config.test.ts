import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { type Config, ConfigError, loadConfig } from '../../src/config/config.ts';
import { variables, variablesHelp } from '../../src/config/variables.ts';

const GiB = 1024 ** 3;

describe('defaults', () => {
  test('an empty environment gives the documented defaults', () => {
    assert.deepEqual(loadConfig({}), {
      host: '127.0.0.1',
      port: 8080,
      tls: undefined,
      dataDir: resolve('data'),
      clickhouse: {
        url: undefined,
        otherUrls: [],
        user: 'default',
        password: '',
        database: 'audit',
        cluster: undefined,
      },
      deployment: 'cloud',
      evidenceKey: undefined,
      tenantDomain: undefined,
      publicUrl: undefined,
      oidc: undefined,
      trustProxy: 0,
      serviceName: 'service',
      vendorName: 'Audit Log Service',
      productName: 'Audit Log Service',
      appName: 'Audit Log Service',
      sessionSecret: undefined,
      pseudonymSecret: undefined,
      sessionTtlMs: 12 * 3_600_000,
      rateLimits: {
        tenant: { requests: 30, windowMs: 15_000 },
        audit: { requests: 300, windowMs: 15_000 },
        ingest: undefined,
        login: { requests: 10, windowMs: 60_000 },
      },
      redisUrl: undefined,
      retentionDays: undefined,
      maxBodyBytes: 33_554_432,
      flushIntervalMs: 500,
      segmentBytes: 64 * 1024 ** 2,
      walMaxBytes: 8 * GiB,
      workers: Math.max(1, availableParallelism() - 1),
      logLevel: 'info',
      metricsPublic: false,
      tracesUrl: undefined,
      mappings: [],
      redactKeys: [],
      redactValues: true,
    });
  });

  test('empty variables count as unset, unknown ones are left alone', () => {
    const empty = Object.fromEntries(Object.keys(variables).map((name) => [name, '']));
    assert.deepEqual(loadConfig({ ...empty, CLICKHOUSE_URI: 'x', PATH: '/bin' }), loadConfig({}));
  });

  test('is frozen all the way down', () => {
    const config = loadConfig({ REDACT_KEYS: 'iban' });
    for (const part of [config, config.clickhouse, config.rateLimits, config.redactKeys]) {
      assert.ok(Object.isFrozen(part));
    }
  });
});

type Environment = Record<string, string>;
const good: readonly (readonly [
  environment: Environment,
  get: (config: Config) => unknown,
  value: unknown,
])[] = [
  [{ HOST: '0.0.0.0' }, (c) => c.host, '0.0.0.0'],
  [{ HOST: '::1' }, (c) => c.host, '::1'],
  [{ HOST: 'localhost' }, (c) => c.host, 'localhost'],
  [{ PORT: '0' }, (c) => c.port, 0],
  [{ PORT: '65535' }, (c) => c.port, 65_535],
  [{ DATA_DIR: '/srv/data' }, (c) => c.dataDir, '/srv/data'],
  [{ DATA_DIR: 'x/../y' }, (c) => c.dataDir, resolve('y')],
  [{ CLICKHOUSE_URL: 'http://db:8123' }, (c) => c.clickhouse.url, 'http://db:8123'],
  [{ CLICKHOUSE_URL: 'https://[::1]:8443/ch' }, (c) => c.clickhouse.url, 'https://[::1]:8443/ch'],
  [{ CLICKHOUSE_URL: 'http://a:1' }, (c) => c.clickhouse.otherUrls, []],
  [
    { CLICKHOUSE_URL: 'http://a:1, http://b:1/x,http://c:1' },
    (c) => [c.clickhouse.url, ...c.clickhouse.otherUrls],
    ['http://a:1', 'http://b:1/x', 'http://c:1'],
  ],
  [{ CLICKHOUSE_USER: 'audit' }, (c) => c.clickhouse.user, 'audit'],
  [{ CLICKHOUSE_PASSWORD: 'a b"ü' }, (c) => c.clickhouse.password, 'a b"ü'],
  [{ CLICKHOUSE_DATABASE: 'audit_2' }, (c) => c.clickhouse.database, 'audit_2'],
  [{ CLICKHOUSE_URL: 'http://a:1', CLICKHOUSE_CLUSTER: 'main-1' }, (c) => c.clickhouse.cluster, 'main-1'],
  [{ DEPLOYMENT: 'self-hosted' }, (c) => c.deployment, 'self-hosted'],
  [{ PUBLIC_URL: 'https://Audit.example:8443/' }, (c) => c.publicUrl, 'https://audit.example:8443'],
  [{ PUBLIC_URL: 'http://localhost:8080' }, (c) => c.publicUrl, 'http://localhost:8080'],
  [
    { OIDC_PROVIDER: 'https://c:s%40@idp.example/realms/a' },
    (c) => c.oidc,
    { issuer: 'https://idp.example/realms/a', clientId: 'c', clientSecret: 's@' },
  ],
  [{ TENANT_DOMAIN: 'Audit.Example.COM' }, (c) => c.tenantDomain, 'audit.example.com'],
  [{ TRUST_PROXY: '2' }, (c) => c.trustProxy, 2],
  [{ SERVICE_NAME: 'AuditLog' }, (c) => c.serviceName, 'auditlog'],
  [{ VENDOR_NAME: 'Müller "&" 山' }, (c) => c.vendorName, 'Müller "&" 山'],
  [{ SESSION_SECRET: 'x'.repeat(32) }, (c) => c.sessionSecret, 'x'.repeat(32)],
  [{ SESSION_SECRET: 'é'.repeat(16) }, (c) => c.sessionSecret, 'é'.repeat(16)],
  [{ PSEUDONYM_SECRET: 'y'.repeat(32) }, (c) => c.pseudonymSecret, 'y'.repeat(32)],
  [{ SESSION_TTL: '90s' }, (c) => c.sessionTtlMs, 90_000],
  [{ RATE_LIMIT_TENANT: 'off' }, (c) => c.rateLimits.tenant, undefined],
  [{ RATE_LIMIT_INGEST: '5000/1s' }, (c) => c.rateLimits.ingest, { requests: 5000, windowMs: 1000 }],
  [{ REDIS_URL: 'redis://h' }, (c) => c.redisUrl, 'redis://h'],
  [{ REDIS_URL: 'rediss://u:p%2Fw@[::1]:6380/2' }, (c) => c.redisUrl, 'rediss://u:p%2Fw@[::1]:6380/2'],
  [{ RETENTION: '90d' }, (c) => c.retentionDays, 90],
  [{ RETENTION: '36h' }, (c) => c.retentionDays, 2],
  [{ RETENTION: 'off' }, (c) => c.retentionDays, undefined],
  [{ MAX_BODY_BYTES: '1 MiB' }, (c) => c.maxBodyBytes, 1024 ** 2],
  [{ FLUSH_INTERVAL: '50ms' }, (c) => c.flushIntervalMs, 50],
  [{ SEGMENT_BYTES: '1MiB', WAL_MAX_BYTES: '1MiB' }, (c) => c.segmentBytes, 1024 ** 2],
  [{ WAL_MAX_BYTES: '16 GiB' }, (c) => c.walMaxBytes, 16 * GiB],
  // A log made small takes the segments along.
  [{ WAL_MAX_BYTES: '1 MiB' }, (c) => c.segmentBytes, 256 * 1024],
  [{ WORKERS: '3' }, (c) => c.workers, 3],
  [{ LOG_LEVEL: 'debug' }, (c) => c.logLevel, 'debug'],
  [{ METRICS_PUBLIC: '1' }, (c) => c.metricsPublic, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' }, (c) => c.tracesUrl, 'http://127.0.0.1:4318'],
  [{ REDACT_KEYS: 'IBAN, ssn,i_ban' }, (c) => c.redactKeys, ['iban', 'ssn']],
  [{ REDACT_VALUES: 'off' }, (c) => c.redactValues, false],
  [{ REDACT_KEYS: 'Card Number,! Id-Token' }, (c) => c.redactKeys, ['cardnumber', '!idtoken']],
];

describe('good values', () => {
  for (const [environment, get, value] of good) {
    test(JSON.stringify(environment), () => assert.deepEqual(get(loadConfig(environment)), value));
  }
});

const bad: readonly (readonly [name: string, value: string])[] = [
  ...['a b', 'http://x', '-x', '1.2.3.4:80', ''.padEnd(300, 'a')].map((value) => ['HOST', value] as const),
  ...['x', '-1', '65536', '8080 ', '1e3', '80.5'].map((value) => ['PORT', value] as const),
  ['DATA_DIR', 'a\0b'],
  ...[
    'db:8123',
    'ftp://db',
    'http://',
    'http://db?async_insert=1',
    'http://db#x',
    'http://u:secretpw@db',
    'http://a:1,',
    'http://a:1,b:1',
    'http://a:1,https://b:1',
    'http://a:1,http://a:1/',
    Array.from({ length: 17 }, (_, n) => `http://n${n}`).join(','),
  ].map((value) => ['CLICKHOUSE_URL', value] as const),
  ...['1x', 'a-b', 'a b', 'ä', 'x'.repeat(64)].map((value) => ['CLICKHOUSE_DATABASE', value] as const),
  // The embedded engine is no cluster.
  ...['a b', 'main-1'].map((value) => ['CLICKHOUSE_CLUSTER', value] as const),
  ...['TLS_CERT', 'TLS_CLIENT_CA'].flatMap((name) =>
    ['/no/such/file', 'package.json', 'test'].map((value) => [name, value] as const),
  ),
  ['CLICKHOUSE_USER', 'a\nb'],
  ...['Cloud', 'selfhosted'].map((value) => ['DEPLOYMENT', value] as const),
  ...['https://x.example', '.example.com', 'a..b', '127.0.0.1', 'x.example:80'].map(
    (value) => ['TENANT_DOMAIN', value] as const,
  ),
  ...['audit.example', 'http://audit.example', 'https://audit.example/x', 'https://u:p@a.example'].map(
    (value) => ['PUBLIC_URL', value] as const,
  ),
  ...[
    'https://idp.example',
    'http://c:s@idp.example',
    'https://c@idp.example/?x',
    'https://c:%@idp.example',
  ].map((value) => ['OIDC_PROVIDER', value] as const),
  ...['-1', '17', 'true'].map((value) => ['TRUST_PROXY', value] as const),
  ...['a b', 'a;b', 'ü'].map((value) => ['SERVICE_NAME', value] as const),
  ['VENDOR_NAME', 'a\u0000b'],
  ['PRODUCT_NAME', 'x'.repeat(201)],
  ['APP_NAME', 'tab\t'],
  ['SESSION_SECRET', 'x'.repeat(31)],
  ['PSEUDONYM_SECRET', 'x'.repeat(31)],
  ...['12', '0s', '1y', '-1h', '12 h', '500d'].map((value) => ['SESSION_TTL', value] as const),
  ...['30', '30/15', '0/15s', '30/0s', 'none', 'OFF', '-1/15s', '30/2d'].map(
    (value) => ['RATE_LIMIT_TENANT', value] as const,
  ),
  ['RATE_LIMIT_AUDIT', '1.5/1s'],
  ['RATE_LIMIT_INGEST', '/1s'],
  ['RATE_LIMIT_LOGIN', '10/'],
  ...['h:6379', 'http://h', 'redis://', 'redis://h/x', 'redis://h?tls=1', 'redis://:secretpw@h:port'].map(
    (value) => ['REDIS_URL', value] as const,
  ),
  ...['90', '0d', 'never', '40000d'].map((value) => ['RETENTION', value] as const),
  ...['0', '1 TB', '-1', '1.5 MiB', '1 GiB'].map((value) => ['MAX_BODY_BYTES', value] as const),
  ...['0ms', '2m', '1'].map((value) => ['FLUSH_INTERVAL', value] as const),
  ...['1', '2 GiB'].map((value) => ['SEGMENT_BYTES', value] as const),
  ['WAL_MAX_BYTES', '100'],
  ...['0', '257', 'all'].map((value) => ['WORKERS', value] as const),
  ...['verbose', 'INFO'].map((value) => ['LOG_LEVEL', value] as const),
  ...['yes', 'true', '2'].map((value) => ['METRICS_PUBLIC', value] as const),
  ...['collector:4318', 'http://u:secretpw@c', 'http://c?x=1'].map(
    (value) => ['OTEL_EXPORTER_OTLP_ENDPOINT', value] as const,
  ),
  ...['a,,b', ',', '!', '_-', '!.', 'x'.repeat(201)].map((value) => ['REDACT_KEYS', value] as const),
  ['REDACT_VALUES', '0'],
];

function messageOf(environment: Environment): string {
  try {
    loadConfig(environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message;
  }
  return assert.fail(`accepted ${JSON.stringify(environment)}`);
}

describe('bad values', () => {
  for (const [name, value] of bad) {
    test(`${name}=${JSON.stringify(value).slice(0, 40)}`, () => {
      const message = messageOf({ [name]: value });
      assert.equal(message.split('\n').length, 1);
      assert.ok(message.startsWith(`${name} `), message);
      assert.match(message, /allowed is ./);
      const hidden = name.endsWith('_SECRET') || value.includes('@') || value.includes('?');
      assert.equal(message.includes(JSON.stringify(value.slice(0, 100)).slice(1, -1)), !hidden, message);
    });
  }

  test('secrets are never repeated', () => {
    assert.ok(!messageOf({ SESSION_SECRET: 'tooshort' }).includes('tooshort'));
    assert.ok(!messageOf({ CLICKHOUSE_URL: 'http://u:secretpw@db' }).includes('secretpw'));
    const list = messageOf({ CLICKHOUSE_URL: 'http://a:1,http://u:secretpw@db' });
    assert.ok(!list.includes('secretpw'));
    assert.match(
      list,
      /^CLICKHOUSE_URL has a value that is not shown here \(number 2 of 2 is none\): allowed is/,
    );
    assert.ok(!messageOf({ OIDC_PROVIDER: 'https://u:secretpw@h?x' }).includes('secretpw'));
    assert.ok(!messageOf({ REDIS_URL: 'redis://:secretpw@h:port' }).includes('secretpw'));
    assert.ok(!messageOf({ EVIDENCE_KEY: 'PRIVATE+KEY+service+63dd8183+secretkey' }).includes('secretkey'));
  });

  test('every bad variable has its line', () => {
    const lines = messageOf({ PORT: 'x', WORKERS: '0', LOG_LEVEL: 'loud' }).split('\n');
    assert.deepEqual(
      new Set(lines.map((line) => line.split(' ')[0])),
      new Set(['LOG_LEVEL', 'PORT', 'WORKERS']),
    );
    assert.equal(lines.length, 3);
  });

  test('a mapping that cannot be used, by file and rule', (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'config-'));
    t.after(() => rmSync(directory, { recursive: true }));
    const good = {
      name: 'doors',
      time: 'at',
      action: 'what',
      outcome: { of: ['result'], success: ['opened'] },
    };
    const place = (file: string, content: unknown) =>
      writeFileSync(join(directory, file), typeof content === 'string' ? content : JSON.stringify(content));
    place('doors.json', good);
    place('notes.txt', 'is no mapping');
    assert.deepEqual(loadConfig({ MAPPINGS_DIR: directory }).mappings, [good]);
    const rules: readonly (readonly [content: unknown, rule: string])[] = [
      ['{"name":', 'is not JSON ('],
      [{ ...good, name: 'gates' }, '/name: must be the name of the file, doors'],
      [{ ...good, outcome: undefined }, "the mapping must have required property 'outcome'"],
      [
        { ...good, outcome: { of: ['a'], success: [] } },
        '/outcome/success: must NOT have fewer than 1 items',
      ],
      [{ ...good, time: 'at[' }, '/time: '],
      [
        { ...good, outcome: { of: ['nosuch(a)'], success: ['b'] } },
        '/outcome/of/0: unknown function nosuch()',
      ],
      [{ ...good, codes: { in: 1002 } }, '/codes/in: must be a code from 0 to 999999999, or {'],
      [{ ...good, codes: { in: { success: 1102 } } }, '/codes/in: must be a code from 0 to 999999999, or {'],
      [{ ...good, description: 'x'.repeat(70_000) }, 'has 7'],
    ];
    for (const [content, rule] of rules) {
      place('doors.json', content);
      const text = messageOf({ MAPPINGS_DIR: directory });
      assert.ok(text.startsWith(`MAPPINGS_DIR is "${directory}" (doors.json: ${rule}`), text);
      assert.ok(text.endsWith('): allowed is a directory with at most 64 mappings, NAME.json each'), text);
    }
    rmSync(join(directory, 'doors.json'));
    place('okta.json', { ...good, name: 'okta' });
    assert.match(messageOf({ MAPPINGS_DIR: directory }), /okta\.json: \/name: is that of a built-in mapping/);
    for (let n = 0; n < 65; n++) place(`m${n}.json`, { ...good, name: `m${n}` });
    assert.match(messageOf({ MAPPINGS_DIR: directory }), /66 mappings; at most 64 are allowed/);
    assert.match(messageOf({ MAPPINGS_DIR: join(directory, 'none') }), /no such file or directory/);
  });

  test('a segment that does not fit into the log', () => {
    assert.match(
      messageOf({ SEGMENT_BYTES: '2 MiB', WAL_MAX_BYTES: '1 MiB' }),
      /^SEGMENT_BYTES .*WAL_MAX_BYTES/,
    );
  });

  test('any text either loads or is refused by name', () => {
    const names = Object.keys(variables);
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.string(), (name, value) => {
        try {
          loadConfig({ [name]: value });
        } catch (error) {
          assert.ok(error instanceof ConfigError);
          assert.ok(error.message.startsWith(`${name} `));
        }
      }),
      { numRuns: 2000 },
    );
  });
});

test('the help names every variable with its default and allowed values', () => {
  const help = variablesHelp().split('\n');
  for (const [name, variable] of Object.entries(variables)) {
    const line = help.find((one) => one.startsWith(`  ${name} `));
    assert.ok(line?.endsWith(`(default: ${variable.shownDefault}; allowed: ${variable.kind.allowed})`), name);
    if (variable.fallback !== undefined && variable.fallback !== '' && name !== 'WORKERS') {
      assert.equal(variable.shownDefault, variable.fallback);
    }
  }
});
