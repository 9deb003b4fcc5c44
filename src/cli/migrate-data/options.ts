import { Problem } from '../../base/problem.ts';
import type { Config } from '../../config/config.ts';
import { certificateFile, httpUrl, type Kind, pattern, privateKeyFile } from '../../config/kinds.ts';
import type { EngineConnection, EngineTls } from '../../storage/storage.ts';
import type { CliDeps } from '../context.ts';
import { askSecret } from '../password.ts';
import { type OptionRow, type ReadOption, wrong } from '../option.ts';

export interface MigrateOptions {
  readonly to: string;
  readonly toUser: string;
  readonly toDatabase?: string;
  readonly toCluster?: string;
  readonly toCa?: string;
  readonly toCert?: string;
  readonly toKey?: string;
  readonly finish?: true;
  readonly verify?: true;
  readonly json?: true;
}

export interface TargetOptions {
  readonly connection: Omit<EngineConnection, 'headers'>;
  /** Paths of what `connection.tls` has. */
  readonly files: EngineTls;
}

/** The variable that holds the password of the target's user. */
export const passwordVariable = 'CLICKHOUSE_TO_PASSWORD';

/** An option whose value is of a kind that a variable of the environment has. */
function ofKind<T>({ allowed, parse }: Kind<T>): ReadOption<T> {
  return (text, name) => {
    const parsed = parse(text);
    if (parsed === undefined) throw wrong(name, `allowed is ${allowed}`);
    return parsed.value;
  };
}

const database = pattern(
  /^[A-Za-z_][A-Za-z0-9_]{0,62}$/,
  'a name of letters, digits and _, not beginning with a digit',
);
const cluster = pattern(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$/, 'a name of letters, digits, _, . and -');

/** The options of `migrate-data`, in the order of its help. */
export const migrateOptions: readonly [OptionRow, ...OptionRow[]] = [
  ['--to <url>', 'address of the ClickHouse server to move to', ofKind(httpUrl)],
  [
    '--to-database <name>',
    'its database, which must be empty (default: as CLICKHOUSE_DATABASE)',
    ofKind(database),
  ],
  ['--to-cluster <name>', 'its cluster: replicated and distributed tables', ofKind(cluster)],
  ['--to-ca <file>', 'authorities that may vouch for it, with an https:// URL'],
  ['--to-cert <file>', 'certificate to show it'],
  ['--to-key <file>', 'key of that certificate'],
];

/** The three files, as texts of PEM. */
function tlsOf({ to, toCa, toCert, toKey }: MigrateOptions): EngineTls | undefined {
  if (toCa === undefined && toCert === undefined && toKey === undefined) return undefined;
  if (!to.startsWith('https:'))
    throw new Problem('malformed', '--to-ca, --to-cert and --to-key: only with an https:// URL');
  if ((toCert === undefined) !== (toKey === undefined))
    throw new Problem('malformed', '--to-cert and --to-key are allowed together alone');
  const read = (kind: Kind<string>, path: string | undefined, name: string): string | undefined =>
    path === undefined ? undefined : ofKind(kind)(path, name, undefined);
  return {
    ca: read(certificateFile, toCa, '--to-ca'),
    cert: read(certificateFile, toCert, '--to-cert'),
    key: read(privateKeyFile, toKey, '--to-key'),
  };
}

/** Where to move to. Asks for the password at a terminal where the environment has none. */
export async function targetOf(
  deps: CliDeps,
  options: MigrateOptions,
  config: Config,
): Promise<TargetOptions> {
  const { to: url, toUser: user, toDatabase = config.clickhouse.database, toCluster } = options;
  if (options.finish && options.verify) throw new Problem('malformed', 'give either --finish or --verify');
  const tls = tlsOf(options);
  const question = `Password of ${user} at ${url} (Enter for none): `;
  const password = deps.environment[passwordVariable] ?? (await askSecret(deps.io, question)) ?? '';
  const { toCa: ca, toCert: cert, toKey: key } = options;
  const connection = { url, user, password, database: toDatabase, tls, cluster: toCluster };
  return { connection, files: { ca, cert, key } };
}
