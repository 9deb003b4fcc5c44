import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { systemClock } from '../base/time/clock.ts';
import { limits } from './limits.ts';
import { Problem } from '../base/errors/problem.ts';
import { loadConfig } from '../config/config.ts';
import type { Environment } from '../config/env.ts';
import { prepareDataDir } from '../config/data-dir.ts';
import type { CommandSchemas } from '../contract/document.ts';
import { createApiKey } from '../control/api-keys.ts';
import type { Directory } from '../control/directory.ts';
import { createOrganization, findOrganization, type Organization } from '../control/organizations.ts';
import { hashPassword } from '../control/passwords.ts';
import { createUser, findByEmail, setPassword } from '../control/users.ts';
import type { Storage } from '../storage/storage.ts';
import { commandLog } from './command-log.ts';
import type { CliDeps, RunningService } from './context.ts';
import { acme } from '../demo/acme.ts';
import { demoBodies, demoClues, demoEnd, type DemoRequest, storyEventsMin } from '../demo/events.ts';
import { globex } from '../demo/globex.ts';
import { demoStaff } from '../demo/people.ts';
import type { Profile } from '../demo/profile.ts';
import { print } from './output.ts';
import { counted } from '../tools/output.ts';
import { projectFile } from '../base/files/project-file.ts';
import { operatorCall } from './command-work.ts';

const demoBodiesAtOnceMax = 4;
const demoTellMs = 1_000;

interface DemoOptions {
  readonly dataDir?: string;
  readonly events: string;
  readonly port?: string;
  readonly json?: true;
}

interface DemoCompany {
  readonly profile: Profile;
  /** The organization's share of all events. */
  readonly share: number;
  readonly seed: number;
}

type DemoOrganization = CommandSchemas['CliDemo']['organizations'][number];
type Login = DemoOrganization['logins'][number];

const companies: readonly DemoCompany[] = [
  { profile: acme, share: 0.7, seed: 1 },
  { profile: globex, share: 0.3, seed: 2 },
];

function parseEvents(text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (count < 0) throw new Problem('malformed', '--events must be a whole number of at most 9 digits');
  return count;
}

async function findOrCreateOrganization(
  directory: Directory,
  { slug, name }: Profile,
): Promise<Organization> {
  return (
    directory.organizationBySlug(slug) ?? directory.change(operatorCall(), createOrganization({ slug, name }))
  );
}

/** One login of each role. Only the demo's output has the passwords. */
async function createLogins(
  directory: Directory,
  profile: Profile,
): Promise<{ logins: Login[]; ids: Map<string, string> }> {
  const { slug: organization } = profile;
  const staff = demoStaff(profile, organization);
  const logins: Login[] = [];
  const ids = new Map<string, string>();
  for (const role of ['admin', 'auditor', 'member'] as const) {
    const person = staff.find((one) => one.role === role);
    if (person === undefined) continue;
    const { email, name } = person;
    const password = randomBytes(12).toString('base64url');
    const passwordHash = await hashPassword(password);
    const known = findByEmail(directory, findOrganization(directory, organization).id, email);
    const user =
      known === undefined
        ? await directory.change(
            operatorCall(),
            createUser({ organization, email, name, role, passwordHash }),
          )
        : (await directory.change(operatorCall(), setPassword({ user: known.id }, passwordHash))).now;
    ids.set(email, user.id);
    logins.push({ email, role, password });
  }
  return { logins, ids };
}

/** Number of an earlier demo's events, and a moment of its week. */
async function earlierEvents(
  storage: Storage,
  profile: Profile,
  org: string,
): Promise<{ count: number; endMicros: number } | undefined> {
  const clues = demoClues({ profile, count: storyEventsMin(profile), endMicros: 0 });
  const flow = clues.find(({ query: { flowId } }) => flowId !== undefined)?.query['flowId'];
  const query = `SELECT toString(count()) AS count,
      toString(toUnixTimestamp64Micro(minIf(time, flow_id = {flow:UUID}))) AS first
    FROM events WHERE org = {org:UUID} AND NOT own`;
  const [row] = await storage.rows<{ count: string; first: string }>(query, { org, flow: flow ?? '' });
  const count = Number(row?.count);
  return count > 0 ? { count, endMicros: demoEnd(Number(row?.first)) } : undefined;
}

/** Records the events of one company. Resolves with the number of accepted events. */
async function recordCompany({ service, report, stop }: Filling, request: DemoRequest): Promise<number> {
  const { slug } = request.profile;
  const bodies = demoBodies(request);
  let accepted = 0;
  let reportedMs = performance.now();

  async function send(): Promise<void> {
    for (const body of bodies) {
      if (stop.aborted) return;
      const answer = await service.record(slug, body);
      if (answer.rejected > 0) throw new Error(`${answer.rejected} demo events of ${slug} were rejected`);
      accepted += answer.accepted;
      if (performance.now() - reportedMs < demoTellMs) continue;
      reportedMs = performance.now();
      report(`${accepted} of ${counted(request.count, 'event')} of ${slug}`);
    }
  }

  // The senders share one iterator: this thread generates while workers encode.
  await Promise.all(Array.from({ length: demoBodiesAtOnceMax }, send));
  return accepted;
}

async function prepare(directory: Directory, company: DemoCompany) {
  const { profile } = company;
  const { id } = await findOrCreateOrganization(directory, profile);
  const make = createApiKey({ organization: profile.slug, scopes: 'read,write', name: 'demo' });
  const [{ logins, ids }, issued] = await Promise.all([
    createLogins(directory, profile),
    directory.change(operatorCall(), make),
  ]);
  return { ...company, id, key: issued.text, logins, ids };
}

interface Filled {
  readonly organizations: readonly DemoOrganization[];
  readonly events: number;
}

interface Filling {
  readonly service: RunningService;
  readonly report: (words: string) => void;
  readonly stop: AbortSignal;
}

/** Undefined if it was stopped early. */
async function fill(filling: Filling, count: number): Promise<Filled | undefined> {
  const { service, report, stop } = filling;
  if (stop.aborted) return undefined;
  const { storage, directory } = service;
  report('creating organizations, users and keys');
  const prepared = await Promise.all(companies.map((company) => prepare(directory, company)));
  const organizations: DemoOrganization[] = [];
  let events = 0;
  let left = count;
  for (const { profile, share, seed, id, ids, key, logins } of prepared) {
    const { slug: organization } = profile;
    const earlier = await earlierEvents(storage, profile, id);
    // The last company gets the rest; none has fewer than its story needs, so the tour works in each demo.
    const wanted = profile === companies.at(-1)?.profile ? left : Math.round(count * share);
    const part = count === 0 ? 0 : Math.max(wanted, storyEventsMin(profile));
    left -= part;
    const story = earlier ?? { count: part, endMicros: systemClock() };
    if (earlier === undefined) report(`recording ${counted(part, 'event')} of ${organization}`);
    if (earlier === undefined) events += await recordCompany(filling, { profile, seed, ids, ...story });
    if (stop.aborted) return undefined;
    organizations.push({ organization, key, logins, clues: demoClues({ profile, ...story }) });
  }
  report('waiting until all events are readable');
  if (!(await service.flush(limits.demoFlushMsMax))) throw new Error('the demo events are not readable yet');
  return { organizations, events };
}

const keyVariable = (organization: string): string => organization.toUpperCase();

function accessText({ organization, key, logins }: DemoOrganization): string {
  const people = logins.map(
    ({ role, email, password }) => `  ${role.padEnd(8)} ${email}  password ${password}`,
  );
  return [`Organization ${organization}`, `  API key  ${key}`, ...people].join('\n');
}

function clueTexts({ organization, clues }: DemoOrganization): string[] {
  const header = `-H "X-API-Key: $${keyVariable(organization)}"`;
  return clues.map(({ title, query }) => {
    const filters = Object.entries(query).map(([name, value]) => `&${name}=${value}`);
    return `${title} (${organization}):\n  curl -s ${header} "$EXPORT${filters.join('')}" | cut -d, -f2,4,8 | head -12`;
  });
}

function instructions(url: string, { organizations, events }: Filled): string {
  const clues = organizations.flatMap(clueTexts);
  const keys = organizations.map(({ organization, key }) => `${keyVariable(organization)}=${key}`);
  const search = [
    `The data contains a simulated theft. ${projectFile('docs/tour.md')} finds it. First, in another terminal:`,
    `  EXPORT='${url}/api/v1/audit/export?format=csv' ${keys.join(' ')}`,
    ...clues,
  ];
  return [
    `The audit log is at ${url} with ${counted(events, 'new demo event')}.`,
    ...organizations.map(accessText),
    `Try  curl -s -H 'X-API-Key: ${organizations[0]?.key ?? ''}' '${url}/api/v1/audit?limit=5'`,
    ...(clues.length > 0 ? [search.join('\n')] : []),
    'Stop with Ctrl-C.',
  ].join('\n\n');
}

function demoEnvironment(environment: Environment, dataDir: string, options: DemoOptions): Environment {
  const level = environment['LOG_LEVEL'];
  return {
    ...environment,
    DATA_DIR: dataDir,
    CLICKHOUSE_URL: undefined,
    CLICKHOUSE_CLUSTER: undefined,
    TENANT_DOMAIN: undefined,
    LOG_LEVEL: level === undefined || level === '' ? 'warn' : level,
    ...(options.port !== undefined && { PORT: options.port }),
  };
}

async function demo(deps: CliDeps, options: DemoOptions): Promise<void> {
  const count = parseEvents(options.events);
  const report = (words: string): void => deps.io.error(`auditlog demo: ${words}\n`);
  const temporary =
    options.dataDir === undefined ? await mkdtemp(join(tmpdir(), 'auditlog-demo-')) : undefined;
  const dataDir = resolve(options.dataDir ?? temporary ?? '.');
  try {
    const config = loadConfig(demoEnvironment(deps.environment, dataDir, options));
    const log = commandLog(deps.io, config.logLevel);
    await prepareDataDir(dataDir, log);
    const stop = new AbortController();
    // Listens before the start, so that it misses no signal.
    const stopped = deps.untilStopped().then(() => {
      report('stopping');
      // A kept directory must be complete: the next demo shows its events.
      if (temporary !== undefined) stop.abort();
    });
    const accessLogTo = join(dataDir, 'access.log');
    report(`starting the service and its engine, with its data in ${dataDir}`);
    const service = await deps.startService(config, { log, accessLogTo });
    try {
      const filled = await fill({ service, report, stop: stop.signal }, count);
      if (filled === undefined) return;
      const { url } = service;
      const facts = { url, ...filled };
      print(deps, options, 'CliDemo', facts, `\n${instructions(url, filled)}\n`);
      await stopped;
    } finally {
      await service.stop();
    }
  } finally {
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true, maxRetries: 5 });
  }
}

export function registerDemo(program: Command, deps: CliDeps): void {
  program
    .command('demo')
    .description('run the service with demo organizations, users and events, on an embedded engine')
    .option(
      '--data-dir <directory>',
      'directory to keep the data (default: a temporary directory, removed at the end)',
    )
    .option('--events <count>', 'number of events; 0, or at least the 5500 of its stories', '100000')
    .option('--port <port>', 'port to listen on, 0 for any (default: PORT)')
    .option('--json', 'print JSON')
    .action((options) => demo(deps, options));
}
