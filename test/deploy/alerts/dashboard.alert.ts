import { strict as assert } from 'node:assert';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { createUser, jsonOf, type SignedIn, signIn } from '../../e2e/session-support.ts';
import { call, eventually } from '../../support/http.ts';
import { alertMsMax, type Series, TestPrometheus } from './prometheus.ts';
import { type OnServer, SecuredService, startWithDeadWriter } from './services.ts';

/** An expression of the dashboard, and how its series are named. */
interface Panel {
  readonly title: string;
  readonly expression: string;
  readonly legend: string;
}

/** Some answers to Prometheus, so that there is a rate. */
const rateInterval = '15s';

async function panelsOf(file: string): Promise<readonly Panel[]> {
  const { panels } = JSON.parse(await readFile(file, 'utf8')) as {
    panels: { title: string; targets: { expr: string; legendFormat: string }[] }[];
  };
  return panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => ({ title, expression: filledIn(expr), legend: legendFormat })),
  );
}

const filledIn = (expression: string): string =>
  expression.replaceAll('$__rate_interval', rateInterval).replaceAll('$instance', '.*');

/** For each value of a label that an expression names, whether alone or among others, the series that it selects. */
function selectorsIn(expression: string): readonly string[] {
  const selectors = [...expression.matchAll(/([a-z0-9_]+)\{([^}]*)\}/g)];
  return selectors.flatMap(([, name = '', matchers = '']) =>
    [...matchers.matchAll(/(\w+)=~?"([^"]+)"/g)].flatMap(([, label = '', values = '']) =>
      values
        .split('|')
        .map((value) => (value === '.*' ? `${name}{${label}!=""}` : `${name}{${label}="${value}"}`)),
    ),
  );
}

describe('the dashboard, on services that have something to do', () => {
  let secured: SecuredService;
  let shared: OnServer;
  let user: SignedIn;
  let prometheus: TestPrometheus;
  let panels: readonly Panel[] = [];

  before(async () => {
    secured = await SecuredService.start();
    shared = await startWithDeadWriter();
    await createUser(shared.living, 'shared', 'admin', 'ann@shared.example');
    user = await signIn(shared.living, 'ann@shared.example');
    prometheus = await TestPrometheus.start([secured.target, shared.target]);
    panels = await panelsOf('deploy/grafana/auditlog.json');
  });

  after(async () => {
    await prometheus?.stop();
    await shared?.stop();
    await secured?.stop();
  });

  /** Something for each panel: events, good ones and others, in both protocols; reads of every kind; too many requests. */
  async function work(): Promise<void> {
    const { living, tenant } = shared;
    assert.equal((await secured.record(10)).status, 202);
    assert.equal((await secured.send([{}])).status, 400);
    await Promise.all(Array.from({ length: 10 }, () => secured.get('', 'no')));
    const logs = { resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: 'a log' } }] }] }] };
    const headers = { 'x-api-key': tenant.key, 'content-type': 'application/json' };
    jsonOf(await call(`${living.url}/v1/logs`, { method: 'POST', headers, body: JSON.stringify(logs) }));
    await tenant.page({ limit: '1' });
    const portal = ['events', 'rows', 'source-events', 'receipts', 'histogram', 'top-values', 'top-files'];
    for (const path of [
      ...portal.map((name) => `portal/${name}`),
      'dashboard/organization/get-events-in-org',
    ])
      assert.equal((await user.get(`/api/v1/${path}`)).status, 200, path);
  }

  /** What is wrong with a panel: it shows nothing, names a label that is not there, or counts what there never is. */
  async function faultOf({ expression, legend }: Panel): Promise<string | undefined> {
    const series = (await prometheus.ask(expression)).filter(({ value }: Series) => Number.isFinite(value));
    if (series.length === 0) return 'nothing to show';
    for (const [, label = ''] of legend.matchAll(/\{\{(\w+)\}\}/g))
      if (series.every(({ labels }) => (labels[label] ?? '') === '')) return `no label ${label}`;
    for (const selector of selectorsIn(expression))
      if (!(await prometheus.holds(selector))) return `no series ${selector}`;
    return undefined;
  }

  test('each panel shows something', async () => {
    assert.ok(panels.length >= 30, `only ${panels.length} expressions`);
    let faults: readonly string[] = [];
    await eventually(
      'each panel to show something',
      async () => {
        await work();
        const found = await Promise.all(panels.map(async (panel) => [panel, await faultOf(panel)] as const));
        faults = found.flatMap(([{ title, expression }, fault]) =>
          fault === undefined ? [] : [`${title}: ${fault}: ${expression}`],
        );
        return faults.length === 0 || undefined;
      },
      alertMsMax,
      1_000,
    ).catch((error: unknown) => assert.fail(`${String(error)}\n${faults.join('\n')}`));
  });

  test('its list of instances has both', async () => {
    const instances = (await prometheus.ask('auditlog_wal_bytes')).map(({ labels }) => labels['instance']);
    assert.deepEqual(
      new Set(instances),
      new Set([secured.target, shared.target].map(({ port }) => `127.0.0.1:${port}`)),
    );
  });
});
