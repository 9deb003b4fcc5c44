import { listOrganizations } from '../../control/organizations.ts';
import type { Storage } from '../../storage/storage.ts';
import { limits } from '../limits.ts';
import { counted } from '../output.ts';
import type { Difference } from './comparison.ts';
import type { TargetOptions } from './options.ts';

/** What is not at the target as it is in the source. */
interface Finding {
  readonly kind: 'missing' | 'added' | 'altered';
  readonly table: string;
  readonly month?: string;
  readonly organization?: string;
  readonly detail: string;
}

/** What a run has done. */
export interface MoveReport {
  /** `copied`: the source may go on; `finished`: the target takes its place; `verified`: nothing was copied. */
  readonly state: 'copied' | 'finished' | 'verified';
  readonly healthy: boolean;
  readonly copied: number;
  /** Events that have come to the source since, to be copied by the last run. */
  readonly left: number;
  readonly events: number;
  readonly organizations: number;
  readonly findings: readonly Finding[];
  readonly notes: readonly string[];
  /** Variables of the environment with which the server starts on the target; none before the move is finished. */
  readonly settings: Readonly<Record<string, string>>;
}

const monthText = (month: number): string =>
  `${Math.floor(month / 100)}-${String(month % 100).padStart(2, '0')}`;

/** The first differences in words. */
export async function findingsOf(source: Storage, differences: readonly Difference[]): Promise<Finding[]> {
  const slugs = new Map((await listOrganizations(source)).map(({ id, slug }) => [id, slug]));
  return differences
    .slice(0, limits.moveFindingsShownMax)
    .map(({ table, month, organization, here, there }) => {
      const kind = here.rows > there.rows ? 'missing' : here.rows < there.rows ? 'added' : 'altered';
      const whose = organization === undefined ? undefined : (slugs.get(organization) ?? organization);
      const where =
        month === undefined || whose === undefined
          ? table
          : `${table} of ${whose}, recorded in ${monthText(month)}`;
      const count = `${here.rows} in the source, ${there.rows} at the target`;
      const detail = `${where}: ${count}${kind === 'altered' ? ', not all of them the same' : ''}`;
      return {
        kind,
        table,
        ...(month !== undefined && { month: monthText(month) }),
        ...(whose !== undefined && { organization: whose }),
        detail,
      };
    });
}

/** The variables that lead a server to the target; the password is the operator's to add. */
export function settingsFor({ connection, files }: TargetOptions): Record<string, string> {
  const { url, user, database, cluster } = connection;
  const all = {
    CLICKHOUSE_URL: url,
    CLICKHOUSE_USER: user,
    CLICKHOUSE_DATABASE: database,
    CLICKHOUSE_CLUSTER: cluster,
    CLICKHOUSE_CA: files.ca,
    CLICKHOUSE_CERT: files.cert,
    CLICKHOUSE_KEY: files.key,
  };
  return Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

export function textOf(report: MoveReport): string {
  const { state, healthy, copied, left, events, organizations, findings, notes, settings } = report;
  const what = `${counted(events, 'event')} of ${counted(organizations, 'organization')}`;
  const lines = healthy
    ? [
        state === 'copied'
          ? `copied: ${counted(copied, 'event')}`
          : `verified: ${what} are the same on both sides`,
      ]
    : [
        `NOT THE SAME: ${counted(findings.length, 'difference')}`,
        ...findings.map(({ kind, detail }) => `  ${kind}: ${detail}`),
      ];
  if (state === 'copied')
    lines.push(
      `${counted(left, 'event')} came meanwhile: run it again, or stop the server and run it with --finish`,
    );
  lines.push(...notes.map((note) => `note: ${note}`));
  if (state === 'finished' && healthy) {
    lines.push('Start the server with the same DATA_DIR, and with:');
    lines.push(...Object.entries(settings).map(([name, value]) => `  ${name}=${value}`));
    lines.push('  CLICKHOUSE_PASSWORD=(of that user)');
  }
  return lines.join('\n');
}
