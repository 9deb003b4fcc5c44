import { rewritesOff } from '../../src/storage/rewrites.ts';
import type { Lab } from '../lab/lab.ts';
import type { ReadData } from '../lab/read-data.ts';
import type { CaseResult } from '../stats/result.ts';
import { median, summarize } from '../stats/summary.ts';

/** Rewrites of the engine that are on: each setting and the value that turns it off. */
const rewritesOn = {
  query_plan_optimize_lazy_materialization: 0,
  optimize_trivial_count_query: 0,
} as const;

const rounds = 15;

/** Reads of the service, and a plain count of a range, which the service avoids for long ranges. */
function readsOf({ database }: Lab, data: ReadData): readonly (readonly [name: string, sql: string])[] {
  const from = `FROM ${database}.events WHERE org = toUUID('${data.id}')`;
  const moment = (share: number): string => `parseDateTime64BestEffort('${data.timeAt(share)}', 6, 'UTC')`;
  const range = `time >= ${moment(0.05)} AND time <= ${moment(0.95)}`;
  const page = (condition: string): string =>
    `SELECT ocsf ${from} AND ${condition} ORDER BY org DESC, time DESC, seq DESC LIMIT 1000 FORMAT Null`;
  return [
    ['count of a range', `SELECT count() ${from} AND ${range}`],
    ['page of a range', page(range)],
    ['page of an actor', page(`actor_email = '${data.actor.frequent}'`)],
    ['page of an actor with a status', page(`actor_email = '${data.actor.rare}' AND status = 'Failure'`)],
  ];
}

/** Measures what each rewrite of the engine saves: time without it divided by time with it. */
export async function benchRewrites(lab: Lab, data: ReadData): Promise<CaseResult> {
  const reads = readsOf(lab, data);
  const notes: string[] = [];
  const all: number[] = [];
  for (const [rewrite, off] of Object.entries({ ...rewritesOff, ...rewritesOn })) {
    const timeOf = async (sql: string, value: string | number): Promise<number> => {
      const begin = performance.now();
      await lab.engine.query(sql, { max_threads: 1, [rewrite]: value });
      return performance.now() - begin;
    };
    const ratios: string[] = [];
    for (const [name, sql] of reads) {
      const [on, without]: [number[], number[]] = [[], []];
      for (let round = 0; round < rounds; round++) {
        if (round % 2 === 0) on.push(await timeOf(sql, 1));
        without.push(await timeOf(sql, off));
        if (round % 2 === 1) on.push(await timeOf(sql, 1));
      }
      const ratio = median(without) / median(on);
      all.push(ratio);
      ratios.push(`${name} ${ratio.toFixed(2)}`);
    }
    notes.push(`${rewrite} off: ${ratios.join(', ')} times as long`);
  }
  return {
    id: 'read.rewrites',
    title: 'reads without a rewrite of the engine, by the same with it',
    unit: 'times',
    service: { rate: summarize(all) },
    notes,
  };
}
