import { strict as assert } from 'node:assert';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { call } from '../support/http.ts';
import { promtool } from '../support/promtool.ts';
import { sharedServer } from '../support/shared.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const alertsFile = 'deploy/prometheus/alerts.yml';

/** Metrics that exist only with a setting, and the file that makes them. */
const bySetting: Readonly<Record<string, string>> = {
  auditlog_tls_certificate_expiry_timestamp_seconds: 'src/http/certificate-watch.ts',
  auditlog_tls_certificate_refused: 'src/http/certificate-watch.ts',
  auditlog_feed_held_back_seconds: 'src/storage/shared-order.ts',
};

let metrics = '';
let rules: readonly Rule[] = [];
let panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[] =
  [];

before(async () => {
  metrics = (await call(`${(await sharedServer()).url}/metrics`)).text;
  const { groups } = parse(await readFile(alertsFile, 'utf8')) as { groups: { rules: Rule[] }[] };
  rules = groups.flatMap((group) => group.rules);
  ({ panels } = JSON.parse(await readFile('deploy/grafana/auditlog.json', 'utf8')) as {
    panels: typeof panels;
  });
});

/** Runs promtool; undefined, with the test skipped, if it is not installed. */
async function run(context: TestContext, args: readonly string[], stdin?: string) {
  const answer = await promtool(args, stdin);
  if (answer === undefined) context.skip('NOT TESTED: promtool (Debian: prometheus) is not installed');
  return answer;
}

test('promtool finds nothing wrong with the metrics', async (context) => {
  const answer = await run(context, ['check', 'metrics'], metrics);
  if (answer !== undefined) assert.deepEqual(answer, { code: 0, text: '' });
});

test('each alert fires on its condition, and none while all is well', async (context) => {
  const answer = await run(context, ['test', 'rules', 'deploy/prometheus/alerts.test.yml']);
  assert.equal(answer?.code ?? 0, 0, answer?.text);
  const tested = await readFile('deploy/prometheus/alerts.test.yml', 'utf8');
  for (const { alert } of rules) assert.ok(tested.includes(`alertname="${alert}"`), `${alert} has no test`);
});

test('each alert has a remedy and a link', async () => {
  for (const { alert, annotations } of rules) {
    assert.ok((annotations['action'] ?? '').length > 20, alert);
    const [, file = '', section] = /^(docs\/[a-z]+\.md)#([a-z-]+)$/.exec(annotations['runbook'] ?? '') ?? [];
    const headings = Array.from((await readFile(file, 'utf8')).matchAll(/^##+ (.*)$/gm), ([, heading = '']) =>
      heading.toLowerCase().replaceAll(' ', '-'),
    );
    assert.ok(headings.includes(section ?? ''), `${alert}: ${file} has no section ${section}`);
  }
});

test('every expression of the dashboard is one', async (context) => {
  const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  assert.ok(expressions.length >= 24);
  const asRules = expressions.map((expr, index) => ({
    record: `panel:${index}`,
    expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'),
  }));
  const directory = await mkdtemp(join(tmpdir(), 'panels-'));
  context.after(() => rm(directory, { recursive: true }));
  const file = join(directory, 'panels.yml');
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ groups: [{ name: 'panels', rules: asRules }] }));
  const answer = await run(context, ['check', 'rules', file]);
  assert.equal(answer?.code ?? 0, 0, answer?.text);
});

test('every endpoint that an alert or a panel names is one', async () => {
  const table = await readFile('src/http/routes.ts', 'utf8');
  const expressions = [...rules, ...panels.flatMap(({ targets }) => targets)].map(({ expr }) => expr);
  const named = expressions.flatMap((expr) =>
    Array.from(expr.matchAll(/\broute(?:=|!=|=~|!~)"([^"]+)"/g), ([, names = '']) => names.split('|')).flat(),
  );
  assert.ok(named.length >= 20, `only ${named.length} names were found`);
  for (const name of named) assert.ok(table.includes(`'${name}'`), `no endpoint is named ${name}`);
});

test('every metric of an alert or panel exists', async () => {
  const known = new Set(Array.from(metrics.matchAll(/^# TYPE (\S+) /gm), ([, name = '']) => name));
  const expressions = [...rules, ...panels.flatMap(({ targets }) => targets)].map(({ expr }) => expr);
  const named = new Set(
    expressions.flatMap((expr) => expr.match(/\b(auditlog|nodejs|process)_[a-z0-9_]+/g) ?? []),
  );
  assert.ok(named.size >= 30, `only ${named.size} names were found`);
  for (const name of named) {
    if (known.has(name.replace(/_(bucket|sum|count)$/, ''))) continue;
    const file = bySetting[name];
    assert.ok(file !== undefined, `no metric ${name}`);
    assert.ok((await readFile(file, 'utf8')).includes(`'${name}'`), `${file} does not make ${name}`);
  }
});

test('every label that an alert or a panel selects by is one of its metric', async () => {
  const names = await readdir('src', { recursive: true });
  const sources = names.filter((name) => name.endsWith('.ts'));
  const texts = await Promise.all(sources.map((name) => readFile(join('src', name), 'utf8')));
  const expressions = [...rules, ...panels.flatMap(({ targets }) => targets)].map(({ expr }) => expr);
  const selectors = expressions.flatMap((expr) => Array.from(expr.matchAll(/(auditlog_\w+)\{([^}]*)\}/g)));
  assert.ok(selectors.length >= 20, `only ${selectors.length} selectors were found`);
  for (const [, name = '', matchers = ''] of selectors) {
    const metric = name.replace(/_(bucket|sum|count)$/, '');
    const ofMetric = texts.find((text) => text.includes(`'${metric}'`)) ?? '';
    for (const [, label = ''] of matchers.matchAll(/(\w+)(?:=|!=|=~|!~)"/g))
      assert.ok(label === 'instance' || ofMetric.includes(`'${label}'`), `${metric} has no label ${label}`);
  }
});
