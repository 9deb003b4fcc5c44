import { brief, hold } from '../finding.ts';
import type { World } from '../world.ts';
import type { Rest } from './ways-out.ts';

interface Histogram {
  readonly data: readonly { readonly success: number; readonly failure: number }[];
  readonly meta: { readonly total: number };
}

interface TopValues {
  readonly data: Readonly<Record<'severities' | 'statuses', readonly { readonly count: number }[]>>;
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** What is counted over time, and by severity and outcome, is what is shown. */
export async function checkCounts(world: World, { organization, events, query }: Rest): Promise<void> {
  const user = organization.users.find(({ state, role }) => state === 'good' && role !== 'member');
  if (user === undefined) return;
  const sure = events.filter(({ isSure }) => isSure).length;
  const ask = async (path: string): Promise<unknown> => {
    const headers = { cookie: user.cookie };
    const answer = await world.ask(`/api/v1/portal/${path}?${query}`, { organization, headers });
    hold(
      answer === undefined || answer.status === 200,
      'a good session reads',
      () => `${path}: ${answer?.status}`,
    );
    return answer && JSON.parse(answer.text);
  };
  const [histogram, top] = [await ask('histogram'), await ask('top-values')] as [Histogram?, TopValues?];
  if (histogram === undefined || top === undefined) return;
  const { severities, statuses } = top.data;
  const counts = [
    histogram.meta.total,
    sum(histogram.data.map(({ success, failure }) => success + failure)),
    sum(severities.map(({ count }) => count)),
    sum(statuses.map(({ count }) => count)),
  ];
  hold(
    counts.every((count) => count >= sure && count <= events.length),
    'totals are exact',
    () =>
      `${organization.slug}: ${counts.join(', ')} by time and by value, where ${sure} to ${events.length} are to be shown: ${brief(JSON.stringify(histogram.data))}`,
  );
}
