import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Problem } from '../../base/errors/problem.ts';
import { readable } from './checkpoints.ts';
import type { Report } from './report.ts';

const digestForm = /^[0-9a-f]{64}$/;

export type Confirmable = Omit<Report, 'confirm'> & {
  readonly confirm: readonly (Omit<Report['confirm'][number], 'decision'> & {
    /** Of the decision, not of the events it explains: stable across runs. */
    readonly digest: string;
    readonly confirmed: boolean;
  })[];
};

/** Given digests, and the first word of each line of given files. */
export async function confirmedDigests(given: readonly string[] = []): Promise<ReadonlySet<string>> {
  const digests = new Set<string>();
  for (const one of given) {
    if (digestForm.test(one)) {
      digests.add(one);
      continue;
    }
    const text = await readable(one, (path) => readFile(path, 'utf8'), 'the file of confirmed decisions');
    for (const line of text.split('\n').filter((row) => row.trim() !== '')) {
      const [digest = ''] = line.trim().split(/\s/);
      if (!digestForm.test(digest))
        throw new Problem('malformed', `--confirmed: a line of ${one} does not begin with a digest`);
      digests.add(digest);
    }
  }
  return digests;
}

export function withConfirmed(report: Report, confirmed: ReadonlySet<string>): Confirmable {
  const confirm = report.confirm.map(({ decision, ...explained }) => {
    const text = [report.origin, explained.kind, explained.position ?? '', ...decision].join('\n');
    const digest = createHash('sha256').update(text).digest('hex');
    return { ...explained, digest, confirmed: confirmed.has(digest) };
  });
  return { ...report, confirm };
}
