import type { Logger } from '../base/observability/log.ts';
import type { StopStack } from '../base/processes/stop-stack.ts';
import { setTracer } from '../base/observability/trace.ts';
import type { Config } from '../config/config.ts';

/** Nothing of it is loaded where no traces are asked for. */
export async function startTracing(
  { traces, serviceName }: Config,
  log: Logger,
  stops: StopStack,
): Promise<void> {
  const { url, sampled } = traces;
  if (url === undefined) return;
  const { OtlpTracer } = await import('../base/observability/otlp-tracer.ts');
  const tracer = new OtlpTracer({ url, sampled, serviceName, log });
  setTracer(tracer);
  stops.add(() => tracer.stop());
}
