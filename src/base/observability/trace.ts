/** Without a tracer each call costs one comparison. */

export interface RequestSpan {
  within<T>(work: () => T): T;
  end(status: number): void;
}

export interface Tracer {
  /** Undefined: not sampled. `traceparent` is the caller's (W3C Trace Context). */
  begin(name: string, attributes: SpanAttributes, traceparent: string | undefined): RequestSpan | undefined;
  /** Measures a step of the current request, if any. */
  step<T>(name: string, work: () => Promise<T>): Promise<T>;
}

/** Names and values from a fixed set, never from clients. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

let tracer: Tracer | undefined;

export function setTracer(chosen: Tracer | undefined): void {
  tracer = chosen;
}

export const requestTracer = (): Pick<Tracer, 'begin'> | undefined => tracer;

export function traced<T>(name: string, work: () => Promise<T>): Promise<T> {
  return tracer === undefined ? work() : tracer.step(name, work);
}
