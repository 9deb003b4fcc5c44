import { parseArgs } from 'node:util';

/** What `npm run bench -- …` can be told. */
export interface Options {
  /** Cases whose name begins with one of these; all when empty. */
  readonly only: readonly string[];
  /** Events that ingest is measured over. */
  readonly rows: number;
  /** Events that reads are measured over; growth compares a tenth of it with all. */
  readonly readRows: number;
  /** Events that are stored on either side when reads of the peers are measured. */
  readonly peersRows: number;
  /** Seconds of measuring a case, all slices of one side together; of the soak, as a whole. */
  readonly seconds: number;
  readonly clients: number;
  /** A ClickHouse server instead of the embedded engine. */
  readonly url: string | undefined;
  /** Directory in which the events of the read cases stay for the next run. */
  readonly data: string | undefined;
  /** Directory of another commit, built: its service is what that of `ingest.single` and `control.change` is compared with. */
  readonly beside: string | undefined;
  readonly json: string | undefined;
  readonly compare: string | undefined;
  readonly report: string | undefined;
  /** Figures of an earlier run, to show or compare instead of measuring. */
  readonly from: string | undefined;
  /** Write the table of results into bench/README.md, and their notes into bench/results.json. */
  readonly readme: boolean;
  readonly guard: boolean;
  readonly writeBaseline: boolean;
}

export const usage = `npm run bench -- [options]
  --only a,b           only cases whose name begins so, e.g. --only micro,ingest,hostile,read,web,soak,peers
  --rows N             events sent by the ingest case (default 2000000) and held for the read cases (default 10000000) or
                       by the peers (default 400000)
  --seconds S          seconds of measuring for each side of a case (default 10), or of the soak (default 600)
  --clients C          clients at once (default 8; single events use eight times as many)
  --url URL            http://user:password@host:port of a ClickHouse server (default: the embedded engine)
  --data DIR           keep the events of the read cases there, and use them again
  --beside DIR         ingest.single, control.change beside the service of another checkout, built with \`npm run build\`
  --json FILE          write all figures
  --report FILE        write a page with charts
  --from FILE          show or compare the figures of an earlier run instead of measuring
  --readme             write the results into bench/README.md and bench/results.json
  --compare FILE       compare with the figures of an earlier run; exit code 1 where a case has become slower
  --guard              the short run that is held against bench/baseline.json; exit code 1 where a ratio has fallen
  --write-baseline     with --guard: write bench/baseline.json instead
`;

/** A group is wanted when one of its cases is, and a case when its group is; everything when nothing is named. */
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
