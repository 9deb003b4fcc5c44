import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { limits } from './limits.ts';
import { createLogger } from '../base/log.ts';
import { Problem } from '../base/problem.ts';
import { loadConfig } from '../config/config.ts';
import type { Environment } from '../config/env.ts';
import { prepareDataDir } from '../config/data-dir.ts';
import type { Schemas } from '../contract/document.ts';
import { createApiKey } from '../control/api-keys.ts';
import { createOrganization, findOrganization, type Organization } from '../control/organizations.ts';
import { createUser, setPassword } from '../control/users.ts';
import type { Storage } from '../storage/storage.ts';
import type { CliDeps, RunningService } from './context.ts';
import { demoBodies } from '../demo/events.ts';
import { type DemoUser, demoStaff } from '../demo/people.ts';
import { print } from './output.ts';

interface DemoOptions {
  readonly dataDir?: string;
  readonly events: string;
  readonly port?: string;
  readonly json?: true;
}

interface DemoCompany {
  readonly slug: string;
  readonly name: string;
  readonly staff: readonly DemoUser[];
  /** Of all events. */
  readonly share: number;
}

type DemoAccess = Schemas['CliDemo']['organizations'][number];
type Login = DemoAccess['logins'][number];

const companies: readonly DemoCompany[] = [
  { slug: 'acme', name: 'Acme Corporation', staff: demoStaff('acme.example'), share: 0.7 },
  { slug: 'globex', name: 'Globex GmbH', staff: demoStaff('globex.example').slice(0, 24), share: 0.3 },
];

function parseEvents(text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (count < 0) throw new Problem('malformed', '--events must be a whole number of at most 9 digits');
  return count;
}

/** The organization of an earlier demo in the same directory, or a new one. */
async function organizationOf(storage: Storage, company: DemoCompany): Promise<Organization> {
  try {
    return await createOrganization(storage, company);
  } catch (error) {
    if (error instanceof Problem && error.code === 'conflict') return findOrganization(storage, company.slug);
    throw error;
  }
}

/** One login of each role. Only what the demo prints has the passwords. */
async function loginsOf(storage: Storage, company: DemoCompany): Promise<Login[]> {
  const logins: Login[] = [];
  for (const role of ['admin', 'auditor', 'member'] as const) {
    const person = company.staff.find((one) => one.role === role);
    if (person === undefined) continue;
    const { email, name } = person;
    const password = randomBytes(12).toString('base64url');
    try {
      await createUser(storage, { organization: company.slug, email, name, role, password });
    } catch (error) {
      if (!(error instanceof Problem && error.code === 'conflict')) throw error;
      await setPassword(storage, { user: email, organization: company.slug }, password);
    }
    logins.push({ email, role, password });
  }
  return logins;
}

async function accessOf(storage: Storage, company: DemoCompany): Promise<DemoAccess> {
  await organizationOf(storage, company);
  const [logins, issued] = await Promise.all([
    loginsOf(storage, company),
    createApiKey(storage, { organization: company.slug, scopes: 'read,write', name: 'demo' }),
  ]);
  return { organization: company.slug, key: issued.text, logins };
}

async function hasEvents(storage: Storage, organizationId: string): Promise<boolean> {
  const query = 'SELECT 1 AS one FROM events WHERE org = {org:UUID} LIMIT 1';
  return (await storage.rows(query, { org: organizationId })).length > 0;
}

/** Records the events of one company, a few bodies at once. Resolves with the number of accepted ones. */
async function recordCompany(service: RunningService, company: DemoCompany, count: number): Promise<number> {
  const { slug: organization, staff: users } = company;
  const seed = companies.indexOf(company) + 1;
  const bodies = demoBodies({ organization, users, count, endMicros: systemClock(), seed });
  let accepted = 0;

  async function send(): Promise<void> {
    for (const body of bodies) {
      const answer = await service.record(organization, body);
      if (answer.rejected > 0)
        throw new Error(`${answer.rejected} demo events of ${organization} were rejected`);
      accepted += answer.accepted;
    }
  }

  // The senders share one iterator; generating in this thread goes on while workers encode what was sent.
  await Promise.all(Array.from({ length: limits.demoBodiesAtOnceMax }, send));
  return accepted;
}

async function fill(
  service: RunningService,
  count: number,
): Promise<{ access: DemoAccess[]; events: number }> {
  const { storage, directory } = service;
  const access = await Promise.all(companies.map((company) => accessOf(storage, company)));
  await directory.refresh();
  let events = 0;
  let left = count;
  for (const company of companies) {
    const share = company === companies.at(-1) ? left : Math.round(count * company.share);
    left -= share;
    const { id } = await findOrganization(storage, company.slug);
    if (!(await hasEvents(storage, id))) events += await recordCompany(service, company, share);
  }
  if (!(await service.flush(limits.demoFlushMsMax))) throw new Error('the demo events are not readable yet');
  return { access, events };
}

function instructions(url: string, filled: { access: readonly DemoAccess[]; events: number }): string {
  const first = filled.access[0];
  const blocks = filled.access.map(({ organization, key, logins }) =>
    [
      `Organization ${organization}`,
      `  API key  ${key}`,
      ...logins.map(({ role, email, password }) => `  ${role.padEnd(8)} ${email}  password ${password}`),
    ].join('\n'),
  );
  return [
    `The audit log is at ${url} with ${filled.events} new demo events.`,
    ...blocks,
    `Try  curl -s -H 'X-API-Key: ${first?.key ?? ''}' '${url}/api/v1/audit?limit=5'`,
    'Stop with Ctrl-C.',
  ].join('\n\n');
}

/** The environment of a demo: always the embedded engine, and a log that leaves the terminal to the demo. */
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
  const temporary =
    options.dataDir === undefined ? await mkdtemp(join(tmpdir(), 'auditlog-demo-')) : undefined;
  const dataDir = resolve(options.dataDir ?? temporary ?? '.');
  try {
    const config = loadConfig(demoEnvironment(deps.environment, dataDir, options));
    await prepareDataDir(dataDir, createLogger(config.logLevel));
    // Listens before the start, so that it misses no signal during it.
    const stopped = deps.untilStopped();
    const accessLogTo = join(dataDir, 'access.log');
    const service = await deps.startService(config, { log: createLogger(config.logLevel), accessLogTo });
    try {
      const filled = await fill(service, count);
      const { url } = service;
      const facts = { url, events: filled.events, organizations: filled.access };
      print(deps, options, 'CliDemo', facts, `\n${instructions(url, filled)}\n`);
      await stopped;
    } finally {
      await service.stop();
    }
  } finally {
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** `demo` (contract: Command line): a service with two companies' events, to look at. */
export function registerDemo(program: Command, deps: CliDeps): void {
  program
    .command('demo')
    .description('run the service with demo organizations, users and events, on an embedded engine')
    .option(
      '--data-dir <directory>',
      'keep everything there (default: a temporary directory, removed at the end)',
    )
    .option('--events <count>', 'how many events to make', '100000')
    .option('--port <port>', 'port to listen on, 0 for any (default: PORT)')
    .option('--json', 'print JSON')
    .action((options) => demo(deps, options));
}
