import type { Command } from 'commander';
import { formatVersion } from '../ingest/segment.ts';
import { levelText, newestMigration } from '../storage/migration-files.ts';
import { version } from '../tools/version.ts';
import type { CliDeps } from './context.ts';
import { print } from './output.ts';
import type { JsonOption } from '../tools/output.ts';

/** What this release knows of tables and log, whether or not there is data. */
export function registerVersion(program: Command, deps: CliDeps): void {
  program
    .command('version')
    .description('print the version, its newest migration and its log format')
    .option('--json', 'print JSON')
    .action(async (options: JsonOption) => {
      const value = { version: version(), migration: await newestMigration(), log_format: formatVersion };
      const text = `auditlog ${value.version}: tables up to migration ${levelText(value.migration)}, log of format ${formatVersion}`;
      print(deps, options, 'CliVersion', value, text);
    });
}
