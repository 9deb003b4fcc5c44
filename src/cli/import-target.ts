import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { readIfThere, replaceFile } from '../base/durable-file.ts';
import { limits } from './limits.ts';
import { Problem } from '../base/problem.ts';
import { answers, readServerFile } from '../base/server-file.ts';
import { createApiKey, listApiKeys } from '../control/api-keys.ts';
import { changesOfKey } from '../control/change-events.ts';
import { findOrganization } from '../control/organizations.ts';
import type { CliDeps } from './context.ts';
import type { ImportTarget } from './import-send.ts';
import { eventsOf, type Session, type Setup, setUp, withStorage } from './session.ts';

export interface TargetOptions {
  readonly url?: string;
  readonly keyFile?: string;
  readonly org?: string;
}

const keyDuration = '30d';
/** An import does not begin with a key that expires sooner. */
const keyLeftMicrosMin = 3_600_000_000;

/** The given key. It is never an argument: every user of the machine can read those. */
async function givenKey(deps: CliDeps, { keyFile }: TargetOptions): Promise<string | undefined> {
  const text = keyFile === undefined ? deps.environment['AUDITLOG_API_KEY'] : await readFile(keyFile, 'utf8');
  const key = text?.trim();
  if (keyFile !== undefined && key === '') throw new Problem('malformed', `${keyFile} holds no API key`);
  return key === '' ? undefined : key;
}

async function keptKey(path: string): Promise<string | undefined> {
  return (await readIfThere(path))?.trim();
}

interface LocalKey {
  readonly key: string;
  readonly keyIsNew: boolean;
}

/**
 * A key with scope `write` for one organization or for all, made for the operator, who has access to the data directory
 * anyway. The directory keeps it (mode 0600), since idempotency keys hold for one API key only.
 */
async function localKey(session: Session, org: string | undefined): Promise<LocalKey> {
  const { deps, config, storage } = session;
  const organization = org === undefined ? undefined : await findOrganization(storage, org);
  const path = join(
    config.dataDir,
    organization === undefined ? 'import-key' : `import-key-${organization.id}`,
  );
  const kept = await keptKey(path);
  if (kept !== undefined) {
    const known = (await listApiKeys(storage, organization?.id)).find(({ id }) => id === kept.split('_')[1]);
    const good = known !== undefined && known.revokedMicros === undefined;
    if (good && (known.expiresMicros ?? Infinity) > systemClock() + keyLeftMicrosMin)
      return { key: kept, keyIsNew: false };
  }
  const issued = await createApiKey(storage, {
    organization: organization?.id,
    allOrganizations: organization === undefined ? true : undefined,
    scopes: 'write',
    name: 'auditlog import',
    expires: keyDuration,
  });
  await replaceFile(path, `${issued.text}\n`, `${path}.${process.pid}.tmp`);
  const events = eventsOf(changesOfKey(issued.apiKey, 'apiKeyCreated'));
  if (events.length > 0) await deps.recordEvents(session, events);
  return { key: issued.text, keyIsNew: true };
}

/** Runs the work on a server in this process. When it ends, readers can read what was recorded. */
async function withOwnServer(
  setup: Setup,
  org: string | undefined,
  work: (target: ImportTarget) => Promise<void>,
): Promise<void> {
  const { deps, config, log } = setup;
  const own = { ...config, host: '127.0.0.1', port: 0 };
  const service = await deps.startService(own, { log, accessLogTo: '/dev/null' });
  try {
    const key = await localKey({ ...setup, storage: service.storage }, org);
    await service.directory.refresh();
    await work({ url: service.url, ...key });
    if (!(await service.flush(limits.demoFlushMsMax))) {
      throw new Error('the events are in the log, but not readable yet: the next start sends them');
    }
  } finally {
    await service.stop();
  }
}

/**
 * Runs an import's work on a server: the one of `--url`; else the one that runs on the data directory; else, with a
 * key, the one at HOST and PORT, and without a key one of its own. Without a key, access to the data directory
 * is what permits the import.
 */
export async function withTarget(
  deps: CliDeps,
  options: TargetOptions,
  work: (target: ImportTarget) => Promise<void>,
): Promise<void> {
  const setup = setUp(deps);
  const { config } = setup;
  const key = await givenKey(deps, options);
  if (key !== undefined && options.org !== undefined) {
    throw new Problem('malformed', '--org is for imports without a key: a key has its organization');
  }
  if (key === undefined && options.url !== undefined) {
    throw new Problem('malformed', 'an API key is needed with --url: in AUDITLOG_API_KEY, or by --key-file');
  }
  const running = await readServerFile(config.dataDir, limits.cliServerAskMsMax);
  if (key !== undefined) {
    const url = urlOf(options.url) ?? running ?? `http://${hostOf(config.host)}:${config.port}`;
    if (options.url === undefined && !(await answers(url, limits.cliServerAskMsMax))) {
      throw new Error(
        `no server answers at ${url}: start it with "auditlog serve", name another with --url, ` +
          'or leave AUDITLOG_API_KEY unset to import into DATA_DIR without one',
      );
    }
    await work({ url, key, keyIsNew: false });
  } else if (running === undefined) {
    await withOwnServer(setup, options.org, work);
  } else {
    const local = await withStorage(setup, (session) => localKey(session, options.org));
    await work({ url: running, ...local });
  }
}

function urlOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '') {
    throw new Problem('malformed', '--url must be an http or https address, such as http://127.0.0.1:8080');
  }
  return url.href.replace(/\/+$/, '');
}

function hostOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
