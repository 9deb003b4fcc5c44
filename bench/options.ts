import { parseArgs } from 'node:util';

/** The options of `npm run bench`; `usage` describes them. */
export interface Options {
  /** Beginnings of names of cases; empty for all. */
  readonly only: readonly string[];
  /** Number of events for the ingest cases. */
  readonly rows: number;
  /** Number of events for the read cases; growth compares a tenth of them with all. */
  readonly readRows: number;
  /** Number of events on either side for reads of the peers. */
  readonly peersRows: number;
  /** Measured seconds of one side of a case, in all slices; total of the soak. */
  readonly seconds: number;
  readonly clients: number;
  /** A ClickHouse server instead of the embedded engine. */
  readonly url: string | undefined;
  /** Directory that keeps the events of the read cases for the next run. */
  readonly data: string | undefined;
  /** Directory of another commit, built, whose service `ingest.single` and `control.change` compare with. */
  readonly beside: string | undefined;
  readonly json: string | undefined;
  readonly compare: string | undefined;
  readonly report: string | undefined;
  /** File of an earlier run, to show or compare instead of measuring. */
  readonly from: string | undefined;
  /** Write the results into bench/README.md and bench/results.json. */
  readonly readme: boolean;
  readonly guard: boolean;
  readonly writeBaseline: boolean;
}

export const usage = `Usage: npm run bench -- [options]

Measures the service; prints a table and notes.

  --only a,b           only cases whose names begin with these, such as micro,ingest,hostile,read,web,soak,peers
  --rows N             number of events: for ingest cases (default 2000000), for read cases (default 10000000), for the
                       peers (default 400000)
  --seconds S          measured seconds of each side of a case (default 10), or of the soak (default 600)
  --clients C          parallel clients (default 8; eight times as many for single events)
  --url URL            http://user:password@host:port of a ClickHouse server (default: the embedded engine)
  --data DIR           keep the events of the read cases in DIR, and reuse them
  --beside DIR         compare ingest.single and control.change with another checkout, built with \`npm run build\`
  --json FILE          write all figures as JSON
  --report FILE        write a page with charts
  --from FILE          show or compare the figures of an earlier run instead of measuring
  --readme             write the results into bench/README.md and bench/results.json
  --compare FILE       compare with the figures of an earlier run; exit code 1 if a case is slower
  --guard              make a short run and compare it with bench/baseline.json; exit code 1 if a ratio fell
  --write-baseline     with --guard: write bench/baseline.json instead
  -h, --help           print this help
`;

export const wantsHelp = (args: readonly string[]): boolean =>
  args.some((arg) => arg === '-h' || arg === '--help');

/** A group is wanted if one of its cases is, and a case if its group is. */
export function isWanted(only: readonly string[], id: string): boolean {
  return only.length === 0 || only.some((name) => id.startsWith(name) || name.startsWith(`${id}.`));
}

function whole(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`--${name} must be a whole number above 0`);
  return Number(text);
}

/** Throws an Error whose message is for the user. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      rows: { type: 'string' },
      seconds: { type: 'string' },
      clients: { type: 'string' },
      url: { type: 'string' },
      data: { type: 'string' },
      beside: { type: 'string' },
      json: { type: 'string' },
      compare: { type: 'string' },
      report: { type: 'string' },
      from: { type: 'string' },
      readme: { type: 'boolean', default: false },
      guard: { type: 'boolean', default: false },
      'write-baseline': { type: 'boolean', default: false },
    },
  });
  if (values.data !== undefined && values.url !== undefined)
    throw new Error('--data is for the embedded engine: a server at --url keeps its own data');
  const only = values.only?.split(',').filter((name) => name !== '') ?? [];
  const rows = whole(values.rows, 'rows');
  return {
    only,
    rows: rows ?? 2_000_000,
    readRows: rows ?? 10_000_000,
    peersRows: rows ?? 400_000,
    seconds: whole(values.seconds, 'seconds') ?? (only.join() === 'soak' ? 600 : 10),
    clients: whole(values.clients, 'clients') ?? 8,
    url: values.url,
    data: values.data,
    beside: values.beside,
    json: values.json,
    compare: values.compare,
    report: values.report,
    from: values.from,
    readme: values.readme,
    guard: values.guard,
    writeBaseline: values['write-baseline'],
  };
}
