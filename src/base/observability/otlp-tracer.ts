import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { errorFacts, type Logger } from './log.ts';
import { counter } from './metrics.ts';
import { Repeated } from '../waiting/repeated.ts';
import type { RequestSpan, SpanAttributes, Tracer } from './trace.ts';

const traceSpansWaitingMax = 4_096;
const traceExportMs = 2_000;
const traceExportMsMax = 5_000;

interface OtlpTracerOptions {
  readonly url: string;
  readonly serviceName: string;
  readonly log: Logger;
}

interface ParentSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** False once the request has ended: its timers may still run. */
  isOpen(): boolean;
}

const parentPattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
const serverKind = 2;
const internalKind = 1;
const errorStatus = 2;

/**
 * OTLP/HTTP JSON: OpenTelemetry's SDK would bring dozens of packages and hooks into Node's modules. Spans
 * without room or receiver are dropped and counted.
 */
export class OtlpTracer implements Tracer {
  readonly #options: OtlpTracerOptions;
  readonly #context = new AsyncLocalStorage<ParentSpan>();
  readonly #exporting: Repeated;
  readonly #spans = counter('auditlog_trace_spans_total', 'Spans of traces: sent, or dropped', ['outcome']);
  #waiting: object[] = [];

  constructor(options: OtlpTracerOptions) {
    this.#options = options;
    this.#exporting = new Repeated(
      traceExportMs,
      () => this.#export(),
      (error) => options.log.debug(errorFacts(error), 'Traces could not be sent'),
    );
  }

  begin(name: string, attributes: SpanAttributes, traceparent: string | undefined): RequestSpan | undefined {
    const [, givenTrace, parentSpanId, flags] = parentPattern.exec(traceparent ?? '') ?? [];
    if (flags !== undefined && (Number.parseInt(flags, 16) & 1) === 0) return undefined;
    let isOpen = true;
    const traceId = givenTrace ?? newId(16);
    const spanId = newId(8);
    const startMs = nowMs();
    return {
      within: (work) => this.#context.run({ traceId, spanId, isOpen: () => isOpen }, work),
      end: (status) => {
        isOpen = false;
        this.#keep({
          ...toOtlpSpan({ traceId, spanId, parentSpanId, name, kind: serverKind, startMs }),
          attributes: toOtlpAttributes({ ...attributes, 'http.response.status_code': status }),
          status: status >= 500 ? { code: errorStatus } : {},
        });
      },
    };
  }

  async step<T>(name: string, work: () => Promise<T>): Promise<T> {
    const place = this.#context.getStore();
    if (place?.isOpen() !== true) return work();
    const { traceId } = place;
    const spanId = newId(8);
    const startMs = nowMs();
    let failed = true;
    try {
      const result = await this.#context.run({ ...place, spanId }, work);
      failed = false;
      return result;
    } finally {
      this.#keep({
        ...toOtlpSpan({ traceId, spanId, parentSpanId: place.spanId, name, kind: internalKind, startMs }),
        status: failed ? { code: errorStatus } : {},
      });
    }
  }

  async stop(): Promise<void> {
    await this.#exporting.stop();
    await this.#export().catch((error: unknown) => {
      this.#options.log.debug(errorFacts(error), 'The last traces could not be sent');
    });
  }

  #keep(span: object): void {
    if (this.#waiting.length < traceSpansWaitingMax) this.#waiting.push(span);
    else this.#spans.inc({ outcome: 'dropped' });
  }

  async #export(): Promise<void> {
    const spans = this.#waiting;
    if (spans.length === 0) return;
    this.#waiting = [];
    const { url, serviceName } = this.#options;
    const scopeSpans = [{ scope: { name: 'auditlog' }, spans }];
    const resource = { attributes: toOtlpAttributes({ 'service.name': serviceName }) };
    let outcome = 'dropped';
    try {
      const answer = await fetch(`${url}/v1/traces`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] }),
        redirect: 'error',
        signal: AbortSignal.timeout(traceExportMsMax),
      });
      await answer.arrayBuffer();
      if (!answer.ok) throw new Error(`the receiver of traces answered ${answer.status}`);
      outcome = 'sent';
    } finally {
      this.#spans.inc({ outcome }, spans.length);
    }
  }
}

interface SpanFacts {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly startMs: number;
}

function toOtlpSpan({ startMs, ...facts }: SpanFacts): object {
  return { ...facts, startTimeUnixNano: nanos(startMs), endTimeUnixNano: nanos(nowMs()) };
}

const newId = (bytes: number): string => randomBytes(bytes).toString('hex');

const nowMs = (): number => performance.timeOrigin + performance.now();

/** Text, because JSON numbers lose digits. */
const nanos = (ms: number): string => `${Math.round(ms * 1000)}000`;

function toOtlpAttributes(attributes: SpanAttributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));
}
