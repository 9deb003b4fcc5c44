/** Faults on purpose: what is taken out of the sources again, one fault at a time. */

export interface Edit {
  readonly file: string;
  /** Stands there exactly once. */
  readonly find: string;
  readonly put: string;
}

export interface PlantedFault {
  readonly name: string;
  readonly about: string;
  readonly edits: readonly Edit[];
  /** Checks that see it: what another one finds is another fault. */
  readonly seenBy: readonly string[];
  /** The operations of its runs, where the fault needs a share of them that is rare. */
  readonly only?: readonly string[];
  /** Failing requests, which it causes as well, do not end its runs: what is behind them is to be seen. */
  readonly toleratesFailures?: true;
}

export const plantedFaults: readonly PlantedFault[] = [
  {
    name: 'memory-twice',
    about: 'a repeat gives the memory of its body back twice',
    seenBy: [
      'no answer has events of others',
      'every event was sent by somebody',
      'events are what was sent',
      'good events are accepted',
      'every answer is as the contract says',
      'totals are exact',
    ],
    only: ['post many', 'post big events', 'repeat many times beside others', 'read a page', 'export'],
    toleratesFailures: true,
    edits: [
      {
        file: 'src/ingest/accept.ts',
        find: '    if (before !== undefined) return before;',
        put: '    if (before !== undefined) {\n      mapped.memory.release();\n      return before;\n    }',
      },
      {
        file: 'src/ingest/frame-memory.ts',
        find: '    for (const lease of this.#leases) lease.release();\n    this.#leases = [];',
        put: '    for (const lease of this.#leases) lease.release();',
      },
      {
        file: 'src/base/bytes/buffer-pool.ts',
        find: '    const memory = this.#memory;\n    this.#memory = undefined;\n    this.#end.released(memory);',
        put: '    this.#end.released(this.#memory);',
      },
    ],
  },
  {
    name: 'statements-by-code',
    about: 'an event of a producer with the code of a statement states a policy or an erasure',
    seenBy: ['verify is content with what nobody tampered with', 'verify sees what was tampered with'],
    only: ['post statements', 'post persons', 'post old events', 'set a retention', 'erase a person'],
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
    seenBy: [
      'no answer has an erased person',
      'events are what was sent',
      'an erasure counts every event of the person',
      'verify is content with what nobody tampered with',
    ],
    only: ['post persons', 'erase two persons at once'],
    edits: [
      {
        file: 'src/erasure/events-of.ts',
        find: 'rows.map((row) => ({ ...row, ...toBe.get(row.number) }))',
        put: 'rows.map((row) => ({ ...row, ...(toBe.size < 0 ? toBe.get(row.number) : {}) }))',
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
    seenBy: ['nothing fails without a fault'],
    edits: [
      {
        file: 'src/read/page.ts',
        find: "    if (whole !== undefined) return { ...whole, ...meta.facts() };\n    const page = {\n      ...readSlices(organization, place, signal),\n      columns: 'ocsf',",
        put: '    if (whole !== undefined) return { ...whole, ...meta.facts() };\n    if (settings !== undefined) throw new Error("too large");\n    const page = {\n      ...readSlices(organization, place, signal),\n      columns: \'ocsf\',',
      },
      {
        file: 'src/read/limits.ts',
        find: 'pageBufferedBytesMax: 32 * 1024 * 1024',
        put: 'pageBufferedBytesMax: 256 * 1024',
      },
    ],
  },
  {
    name: 'journal-without-end',
    about: 'newest changes of control data that are lost are not noticed',
    seenBy: [
      'losses are reported',
      'what was ended stays ended',
      'what is good stays good',
      'a hold is kept',
    ],
    edits: [{ file: 'src/control/directory.ts', find: '    if (isFirst) this.#compare();\n', put: '' }],
    only: [
      'harm control data while stopped',
      'revoke a key',
      'make a key',
      'place a hold',
      'make a user',
      'disable a user',
      'post a few',
    ],
  },
  {
    name: 'recorded-after-change',
    about: 'a change of control data is recorded after it, in a row of its own',
    seenBy: ['what the service does is recorded', 'no answer lies'],
    only: ['change control data', 'kill the engine', 'kill the service'],
    edits: [
      {
        file: 'src/control/directory.ts',
        find: '      const row = await this.#journal.append(this.#head, entry);\n',
        put: '      const row = await this.#journal.append(this.#head, { ...entry, events: [] });\n',
      },
      {
        file: 'src/control/directory.ts',
        find: '        this.#take(row, true);\n        return result;\n',
        put: '        this.#take(row, true);\n        const told = await this.#journal.append(this.#head, { ...entry, id: randomUUID(), parts: [] });\n        if (told !== undefined) this.#take(told, true);\n        return result;\n',
      },
    ],
  },
  {
    name: 'answers-at-once',
    about: 'a file of remembered answers above a bound (512 MB, here 256 bytes) makes every start impossible',
    seenBy: ['a start is always possible'],
    only: ['post a few', 'post persons', 'repeat a request', 'kill the service', 'stop the service'],
    edits: [
      {
        file: 'src/ingest/answer-files.ts',
        find: '    length = await reader.read(piece, at);\n',
        put: "    length = await reader.read(piece, at);\n    if (at + length > 256) throw new Error('too long for a string');\n",
      },
    ],
  },
  {
    name: 'clock-believed',
    about: 'a clock that jumps ahead removes by retention',
    seenBy: [
      'what was acknowledged is there',
      'every event is there, in one order',
      'the feed gives each event once',
      'totals are exact',
    ],
    only: [
      'a clock that was far ahead for a while',
      'start with a wrong clock',
      'post a few',
      'post old events',
      'set a retention',
      'repeat a request',
    ],
    edits: [
      {
        file: 'src/control/planned-removals.ts',
        find: 'return this.#runningMs >= dueMs;',
        put: 'return dueMs >= 0;',
      },
    ],
  },
  {
    name: 'one-tree-stops-all',
    about: 'one organization whose tree contradicts a checkpoint stops evidence, erasures and backups of all',
    edits: [
      {
        file: 'src/evidence/stopped-trees.ts',
        find: '  has(organization: string): boolean {',
        put: '  get size(): number {\n    return this.#stopped.size;\n  }\n\n  has(organization: string): boolean {',
      },
      {
        file: 'src/evidence/builder.ts',
        find: '    if (!hasEvents && now - this.#savedMs < idleProgressMs) return;\n',
        put: '    if (!hasEvents && now - this.#savedMs < idleProgressMs) return;\n    if (this.#stopped.size > 0) return;\n',
      },
    ],
    seenBy: ['everything ends', 'an erasure ends', 'verify is content with what nobody tampered with'],
    only: ['harm the tree of an organization', 'post persons', 'post a few', 'erase a person'],
  },
];
