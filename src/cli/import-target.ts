import { join, resolve } from 'node:path';
import { systemClock } from '../base/time/clock.ts';
import { readIfThere, replaceFile } from '../base/files/durable-file.ts';
import { limits } from './limits.ts';
import { answers, localUrl, readServerFile, type ServerAddress } from '../base/files/server-file.ts';
import { changeHere, type OperatorChange } from '../control/operator-changes.ts';
import { findOrganization } from '../control/organizations.ts';
import type { CliDeps } from './context.ts';
import type { ImportEngine } from '../tools/import.ts';
import type { ImportTarget } from '../tools/import-send.ts';
import { givenTarget, type ImportWork, targetAt, type TargetOptions } from '../tools/import-target.ts';
import { wrong } from '../tools/option.ts';
import { givenKey } from '../tools/secret.ts';
import { type ControlContext, operatorCall, type Setup, setUp, withDirectory } from './command-work.ts';
import { trustedFetch, type TrustOptions } from '../tools/trusted-fetch.ts';

/** A busy server may be slow; without an answer an import counts it as absent. */
const importServerAskMsMax = 30_000;

const keyDuration = '30d';
/** An import does not start with a key that expires sooner. */
const keyLeftMicrosMin = 3_600_000_000;

type LocalControl = Pick<ControlContext, 'config' | 'directory' | 'change'>;

/**
 * A key with scope `write`, created for the operator. The directory keeps it (mode 0600), because idempotency keys belong to one
 * API key.
 */
async function localKey(
  { config, directory, change }: LocalControl,
  org: string | undefined,
): Promise<Omit<ImportTarget, 'url'>> {
  const organization = org === undefined ? undefined : findOrganization(directory, org).id;
  const name = `the data directory ${resolve(config.dataDir)}, ${organization === undefined ? 'all organizations' : `organization ${organization}`}`;
  const path = join(config.dataDir, organization === undefined ? 'import-key' : `import-key-${organization}`);
  const kept = (await readIfThere(path))?.trim();
  const known = directory.apiKey(kept?.split('_')[1] ?? '');
  const endMicros = known?.revokedMicros ?? known?.expiresMicros ?? 0;
  const isGood = endMicros > systemClock() + keyLeftMicrosMin;
  if (kept !== undefined && isGood) return { key: kept, name, keyIsNew: false };
  const issued = await change('createApiKey', {
    organization,
    allOrganizations: organization === undefined ? true : undefined,
    scopes: 'write',
    name: 'auditlog import',
    expires: keyDuration,
  });
  await replaceFile(path, `${issued.text}\n`, `${path}.${process.pid}.tmp`);
  return { key: issued.text, name, keyIsNew: true };
}

async function withOwnServer(setup: Setup, org: string | undefined, work: ImportWork): Promise<void> {
  const { deps, config, log } = setup;
  const own = { ...config, host: '127.0.0.1', port: 0, tls: undefined };
  const service = await deps.startService(own, { log, accessLogTo: '/dev/null' });
  try {
    const { directory } = service;
    const change: OperatorChange = (name, ...values) => changeHere(directory, operatorCall(), name, values);
    const key = await localKey({ config, directory, change }, org);
    await work({ url: service.url, ...key });
    if (!(await service.flush(limits.demoFlushMsMax))) {
      throw new Error('the events are in the log, but not readable yet; the next start stores them');
    }
  } finally {
    await service.stop();
  }
}

/**
 * Runs an import on a server: of `--url`; else the one of the data directory; else, with a key, the one at HOST and PORT, and
 * without a key its own. Without a key, access to the data directory authorizes the import.
 */
async function withTarget(deps: CliDeps, options: TargetOptions, work: ImportWork): Promise<void> {
  const key = await givenKey(options, deps.environment);
  if (key !== undefined && options.org !== undefined)
    throw wrong('--org', 'only for imports without a key: a key has its organization');
  if (options.url !== undefined) return work(await givenTarget(deps, options.url, options));
  const setup = setUp(deps);
  const { host, port, tls, dataDir } = setup.config;
  const running = await readServerFile(dataDir, (server) => doesAnswer(server, options));
  if (key !== undefined) {
    const { url, certificate } = running ?? { url: localUrl(host, port, tls !== undefined) };
    if (running === undefined && !(await doesAnswer({ url }, options)))
      throw new Error(
        `no server answers at ${url}: start it with "auditlog serve", name another with --url, ` +
          'or leave AUDITLOG_API_KEY unset to import into DATA_DIR without one',
      );
    await work(await targetAt(url, key, options, certificate));
  } else if (running === undefined) {
    await withOwnServer(setup, options.org, work);
  } else {
    const local = await withDirectory(setup, (context) => localKey(context, options.org));
    await work({ url: running.url, fetch: await trustedFetch(options, running.certificate), ...local });
  }
}

async function doesAnswer({ url, certificate }: ServerAddress, trust: TrustOptions): Promise<boolean> {
  return answers(url, importServerAskMsMax, await trustedFetch(trust, certificate));
}

export function importEngine(deps: CliDeps): ImportEngine {
  return {
    withTarget: (options, work) => withTarget(deps, options, work),
    previewOptions: () => setUp(deps).config,
  };
}
