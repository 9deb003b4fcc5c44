import { counter, gauge, histogram, tally } from '../base/observability/metrics.ts';
import type { AccessRecord } from './access-log.ts';

const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);

interface Children {
  readonly count: (requests: number) => void;
  readonly latency: { observe(seconds: number): void };
}

/** Children are looked up once for each route, method and status. */
export function createHttpMetrics(inFlight: () => number): (route: string, record: AccessRecord) => void {
  const requests = counter('auditlog_http_requests_total', 'Requests answered', [
    'route',
    'method',
    'status',
  ]);
  const latency = histogram(
    'auditlog_http_request_duration_seconds',
    'Seconds from the head of a request to the end of its answer',
    ['route'],
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  );
  const sent = tally(counter('auditlog_http_sent_bytes_total', 'Body bytes sent, as on the wire', []));
  const received = tally(
    counter('auditlog_http_received_bytes_total', 'Body bytes received, as on the wire', []),
  );
  gauge('auditlog_http_requests_in_flight', 'Requests not yet answered', [], (it) => it.set(inFlight()));

  const children = new Map<string, Children>();
  const childrenOf = (route: string, method: string, status: number): Children => {
    const key = `${status} ${method} ${route}`;
    let child = children.get(key);
    if (child === undefined) {
      const count = tally(requests.labels(route, method, String(status)));
      child = { count, latency: latency.labels(route) };
      children.set(key, child);
    }
    return child;
  };
  return (route, record) => {
    // A method is the client's text: unknown ones share a label, so that the number of series is bounded.
    const method = methods.has(record.method) ? record.method : 'other';
    const { count, latency } = childrenOf(route, method, record.status);
    count(1);
    latency.observe(record.latencyMs / 1000);
    sent(record.bytesSent);
    received(record.bytesReceived);
  };
}
