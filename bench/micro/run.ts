import type { Sink } from '../load-cases.ts';
import { eventCases } from './event-cases.ts';
import { logCases } from './log-cases.ts';
import { type MicroPlan, measureMicro } from './measure.ts';
import { requestCases } from './request-cases.ts';

/** All micro benches that were asked for. */
export async function runMicroCases(plan: MicroPlan, sink: Sink): Promise<void> {
  for (const one of [...eventCases(), ...(await logCases()), ...requestCases()]) {
    if (sink.wanted(one.id)) sink.add([await measureMicro(one, plan)]);
  }
}
