import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { call, eventually } from '../support/http.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly { readonly key: string; readonly value: Record<string, string> }[];
}

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const caller = '00f067aa0ba902b7';

describe('traces', () => {
  const bodies: string[] = [];
  const receiver = createServer((request, answer) => {
    assert.equal(request.url, '/otlp/v1/traces');
    let text = '';
    request.setEncoding('utf8').on('data', (piece) => (text += piece));
    request.on('end', () => {
      bodies.push(text);
      answer.end('{}');
    });
  });
  let it: TestServer;
  let tenant: Tenant;

  before(async () => {
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const address = receiver.address();
    assert.ok(typeof address === 'object' && address !== null);
    const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${address.port}/otlp/`;
    it = await startServer({ env: { OTEL_EXPORTER_OTLP_ENDPOINT } });
    tenant = await createTenant(it, 'traced');
  });
  after(async () => {
    await it?.stop();
    receiver.close();
  });

  const spans = (): Span[] =>
    bodies.flatMap((body) =>
      (JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }).resourceSpans.flatMap(
        ({ scopeSpans }) => scopeSpans.flatMap(({ spans: some }) => some),
      ),
    );
  const traced = (id: string, flags = '01') => ({ traceparent: `00-${id}-${caller}-${flags}` });
  const ofTrace = (id: string, name: string) =>
    eventually(`the span ${name}`, async () => {
      const found = spans().filter(({ traceId }) => traceId === id);
      return found.some((span) => span.name === name) ? found : undefined;
    });

  test('a write and a read join the trace of the caller, step by step, without content', async () => {
    const secret = 'nobody@elsewhere.example';
    const event = sourceEvent({ actor: secret, flow_id: 'c0ffee00-0000-4000-8000-000000000001' });
    assert.equal((await tenant.post([event], traced(trace))).status, 202);
    const write = await ofTrace(trace, 'POST /api/v1/audit');
    const root = write.find(({ kind }) => kind === 2);
    assert.equal(root?.parentSpanId, caller);
    const attributes = Object.fromEntries((root?.attributes ?? []).map(({ key, value }) => [key, value]));
    assert.deepEqual(attributes, {
      'http.request.method': { stringValue: 'POST' },
      'http.route': { stringValue: '/api/v1/audit' },
      'http.response.status_code': { intValue: '202' },
    });
    const names = write.map(({ name }) => name).toSorted();
    assert.deepEqual(names, ['POST /api/v1/audit', 'log', 'small body', 'worker']);
    const within = (span: Span) =>
      BigInt(span.startTimeUnixNano) >= BigInt(root?.startTimeUnixNano ?? 0) &&
      BigInt(span.endTimeUnixNano) <= BigInt(root?.endTimeUnixNano ?? 0) &&
      BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano);
    assert.ok(write.every(within), JSON.stringify(write));
    const read = trace.replace('4b', '5c');
    await call(`${it.url}/api/v1/audit?actor=${encodeURIComponent(secret)}`, {
      headers: { 'x-api-key': tenant.key, ...traced(read) },
    });
    const steps = (await ofTrace(read, 'GET /api/v1/audit')).map(({ name }) => name);
    assert.ok(steps.includes('engine'), steps.join());
    const all = bodies.join();
    for (const hidden of [secret, encodeURIComponent(secret), tenant.key, 'c0ffee00', tenant.organization.id])
      assert.ok(!all.includes(hidden), hidden);
  });

  test('a request that its caller does not trace is not traced', async () => {
    const unwanted = trace.replace('4b', '6d');
    await tenant.get({ limit: '1' }, traced(unwanted, '00'));
    await tenant.get({ limit: '1' }, { traceparent: 'nonsense' });
    const last = trace.replace('4b', '7e');
    await tenant.get({ limit: '1' }, traced(last));
    await ofTrace(last, 'GET /api/v1/audit');
    assert.ok(spans().every(({ traceId }) => traceId !== unwanted));
  });

  test('a receiver that does not answer costs spans, which are counted, and no request', async () => {
    receiver.close();
    receiver.closeAllConnections();
    assert.equal((await tenant.post([sourceEvent()], traced(trace))).status, 202);
    await eventually('the spans to be counted', async () => {
      const { text } = await call(`${it.url}/metrics`);
      return /^auditlog_trace_spans_total\{outcome="dropped"\} [1-9]/m.test(text) ? true : undefined;
    });
  });
});
