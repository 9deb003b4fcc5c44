import { levelText } from './migration-files.ts';

/** A migration as the database has it recorded. */
export interface RecordedMigration {
  readonly name: string;
  readonly number: number;
  /** 0 where the release that applied it did not say. */
  readonly worksFrom: number;
  /** UTC, as the engine writes it. */
  readonly applied: string;
}

/** The tables are of a release that this one cannot work with. */
export class LaterReleaseError extends Error {
  constructor(database: string, { name, worksFrom, applied }: RecordedMigration, newest: number) {
    const needs =
      worksFrom === 0
        ? 'no earlier release works with it'
        : `only releases that know ${levelText(worksFrom)} work with it`;
    super(
      `the database ${database} is of a later release: migration ${name} was applied at ${applied.slice(0, 19)} UTC, and ${needs}; ` +
        `this one knows those up to ${levelText(newest)}. Start the later release again, or restore a backup of before it ` +
        '(docs/upgrade.md, Rolling back)',
    );
    this.name = 'LaterReleaseError';
  }
}

/** Of what a later release has applied: throws LaterReleaseError unless this one, which knows `newest`, works with all. */
export function requireWorkable(database: string, later: readonly RecordedMigration[], newest: number): void {
  const hindrance = later.find(({ worksFrom }) => worksFrom === 0 || worksFrom > newest);
  if (hindrance !== undefined) throw new LaterReleaseError(database, hindrance, newest);
}
