import type { Command } from 'commander';
import type { Answer } from '../contract/document.ts';
import { findOrganization } from '../control/organizations.ts';
import { createHistogramReader } from '../read/histogram.ts';
import { createTopFilesReader } from '../read/top-files.ts';
import { createTopValuesReader } from '../read/top-values.ts';
import { addFilters, readFilters, integer, option } from '../tools/option.ts';
import { counted } from '../tools/output.ts';
import type { CliDeps } from './context.ts';
import { keptFilter } from './export.ts';
import { untilTheEnd } from './export-read.ts';
import { print, table } from './output.ts';
import { setUp, withDirectory } from './command-work.ts';

type Summary = Answer<'CliSummary'>;

interface SummarizeOptions {
  readonly org: string;
  readonly limit: number;
  readonly json?: true;
}

async function summarize(deps: CliDeps, options: SummarizeOptions): Promise<void> {
  const filters = readFilters(options);
  await withDirectory(setUp(deps), async ({ storage, directory }) => {
    const organization = findOrganization(directory, options.org);
    const filter = keptFilter(directory, organization, filters);
    const { data, meta, previous } = await createHistogramReader(storage)(
      organization.id,
      filter,
      true,
      untilTheEnd,
    );
    const summary: Summary = {
      start: meta.start,
      end: meta.end,
      ...outcomes(data),
      previous: previous && { start: previous.start, end: previous.end, ...outcomes(previous.data) },
      ...(await createTopValuesReader(storage)(organization.id, filter, options.limit, untilTheEnd)),
      files: await createTopFilesReader(storage)(organization.id, filter, options.limit, untilTheEnd),
    };
    print(deps, options, 'CliSummary', summary, summaryText(summary));
  });
}

function outcomes(data: Answer<'HistogramBuckets'>) {
  const failure = data.reduce((sum, bucket) => sum + bucket.failure, 0);
  return { total: data.reduce((sum, { success }) => sum + success, failure), failure };
}

/** Without control characters, which a terminal obeys. */
const plain = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (one) => JSON.stringify(one).slice(1, -1));

function summaryText(summary: Summary): string {
  const { start = '-', end = '-', total, failure, previous, without } = summary;
  const lines = [`${counted(total, 'event')}, ${failure} failed, from ${start} to ${end}`];
  if (previous !== undefined)
    lines.push(
      `before: ${counted(previous.total, 'event')}, ${previous.failure} failed, from ${previous.start}`,
    );
  lines.push(`without an actor's e-mail address: ${without.actor}; without an IP address: ${without.ip}`);
  const count = ['events', (one: { readonly count: number }) => String(one.count)] as const;
  const seen = [
    count,
    ['first seen', (one: { readonly first_seen: string }) => one.first_seen],
    ['last seen', (one: { readonly last_seen: string }) => one.last_seen],
  ] as const;
  const tables = [
    table(summary.statuses, [['status', ({ status }) => status], count]),
    table(summary.severities, [['severity', ({ severity }) => severity], count]),
    table(summary.activities, [
      ['activity', (one) => String(one.activity_id)],
      ['title', (one) => plain(one.activity_name)],
      count,
    ]),
    table(summary.actors, [
      ['actor', (one) => plain(one.email_addr)],
      ['name', (one) => plain(one.name ?? '')],
      ...seen,
    ]),
    table(summary.addresses, [['address', ({ ip }) => ip], ...seen]),
    table(summary.files, [
      ['file', ({ name }) => plain(name)],
      ['bytes', ({ bytes }) => String(bytes)],
      ...seen,
    ]),
  ];
  return [lines.join('\n'), ...tables].join('\n\n');
}

export function registerSummarize(program: Command, deps: CliDeps): void {
  const command = program
    .command('summarize')
    .description('count events by value and files by bytes, and compare with the previous range')
    .requiredOption('--org <slug>', 'slug or id of an organization in the engine')
    .addOption(option('--limit <number>', 'values in each list', integer(1, 100), '10'))
    .option('--json', 'print JSON');
  addFilters(command, { except: ['q', 'q.phrase', 'q.not'] });
  command.action((options: SummarizeOptions) => summarize(deps, options));
}
