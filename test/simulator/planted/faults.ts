/** Faults on purpose: what is taken out of the sources again, one fault at a time. */

interface Edit {
  readonly file: string;
  /** Stands there exactly once. */
  readonly find: string;
  readonly put: string;
}

export interface PlantedFault {
  readonly name: string;
  readonly about: string;
  readonly edits: readonly Edit[];
  /** Arguments of the run, where the fault needs a share of operations that is rare. */
  readonly run?: readonly string[];
}

export const plantedFaults: readonly PlantedFault[] = [
  {
    name: 'memory-twice',
    about: 'a repeat that another process has answered gives the memory of its body back twice',
    edits: [
      {
        file: 'src/ingest/accept.ts',
        find: '      if (!isSame(claim.sent, sent)) throw keyReused();\n      return claim.answer;',
        put: '      mapped.memory.release();\n      if (!isSame(claim.sent, sent)) throw keyReused();\n      return claim.answer;',
      },
      {
        file: 'src/ingest/frame-memory.ts',
        find: '    for (const lease of this.#leases) lease.release();\n    this.#leases = [];',
        put: '    for (const lease of this.#leases) lease.release();',
      },
      {
        file: 'src/base/buffer-pool.ts',
        find: '    const memory = this.#memory;\n    this.#memory = undefined;\n    this.#end.released(memory);',
        put: '    this.#end.released(this.#memory);',
      },
    ],
  },
  {
    name: 'statements-by-code',
    about: 'an event of a producer with the code of a statement states a policy or an erasure',
    edits: [
      {
        file: 'src/cli/verify/policies.ts',
        find: 'AND own AND activity_id',
        put: 'AND activity_id',
      },
      {
        file: 'src/cli/verify/policies.ts',
        find: 'if (entry?.own === true && entry.position < covered)',
        put: 'if (entry !== undefined && entry.position < covered)',
      },
    ],
  },
  {
    name: 'erasure-of-old-text',
    about: 'of two erasures that were planned over one event the second brings the first name back',
    edits: [
      {
        file: 'src/cli/erase/events-of.ts',
        find: 'rows.map((row) => ({ ...row, ...toBe.get(row.place) }))',
        put: 'rows.map((row) => ({ ...row, ...(toBe.size < 0 ? toBe.get(row.place) : {}) }))',
      },
      {
        file: 'src/storage/replaced-events.ts',
        find: ' AND ${isAsPlanned}`',
        put: ' AND ${isAsPlanned === "" ? "" : "1"}`',
      },
    ],
  },
  {
    name: 'page-without-slices',
    about: 'a page above a bound (256 MB, here 256 KiB) is a 500 for ever',
    edits: [
      {
        file: 'src/read/page.ts',
        find: '    if (whole !== undefined) return whole;\n    const page = {\n      organization,\n      where: where.sql,\n      start,\n      parameters,\n      options: { settings: plan, signal },',
        put: '    if (whole !== undefined) return whole;\n    if (settings !== undefined) throw new Error("too large");\n    const page = {\n      organization,\n      where: where.sql,\n      start,\n      parameters,\n      options: { settings: plan, signal },',
      },
      {
        file: 'src/read/limits.ts',
        find: 'pageBufferedBytesMax: 32 * 1024 * 1024',
        put: 'pageBufferedBytesMax: 256 * 1024',
      },
    ],
  },
  {
    name: 'control-data-without-copy',
    about: 'control data that a table has lost is not put back, nor told',
    edits: [{ file: 'src/storage/open-storage.ts', find: '  await watch.start();\n', put: '' }],
    run: [
      '--only',
      'harm control data while stopped',
      '--only',
      'revoke a key',
      '--only',
      'make a key',
      '--only',
      'place a hold',
      '--only',
      'make a user',
      '--only',
      'disable a user',
      '--only',
      'post a few',
    ],
  },
];
