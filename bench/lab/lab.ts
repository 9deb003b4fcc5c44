import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Intervals } from '../../src/service/base.ts';
import { type Generator, startGenerator } from '../load/generator-process.ts';
import { epochMs } from '../load/job.ts';
import { type Engine, reachEngine } from './engine.ts';
import { ownDirectory } from './left-behind.ts';
import { type Service, startService } from './service.ts';
import { threadNamesEnv } from './thread-stats.ts';

/** The parts of a load case: a running service, direct access to its engine, and the generator. */
export interface Lab {
  readonly directory: string;
  /** The kept directory, if `--data` names one. */
  readonly keptIn: string | undefined;
  readonly service: Service;
  readonly engine: Engine;
  readonly generator: Generator;
  /** The service's database, and another in the same engine for direct INSERTs. */
  readonly database: string;
  readonly bareDatabase: string;
  /** A new organization with a key to read and write; the slug is unique in this lab. */
  organization(slug: string): Promise<{ id: string; slug: string; key: string }>;
  /** Waits until the service's table has this many events; returns the time (`epochMs`). Each check costs the engine. */
  visible(events: number, everyMs?: number): Promise<number>;
  events(): Promise<number>;
  close(): Promise<void>;
}

const pollMs = 10;
const visibleMsMax = 300_000;

/** How the service of a lab is started. */
export interface LabOptions {
  readonly url: string | undefined;
  /** Directory of another commit; by default, this one. */
  readonly checkout?: string | undefined;
  /** Kept directory of the service's data. */
  readonly keptIn?: string | undefined;
  /** Intervals of background work; by default, the service's. */
  readonly intervals?: Partial<Intervals> | undefined;
  /** The service names its threads (`thread-stats.ts`). */
  readonly namesThreads?: boolean | undefined;
}

export async function openLab(options: LabOptions): Promise<Lab> {
  const { url, checkout, keptIn, intervals, namesThreads = false } = options;
  const directory = ownDirectory(await mkdtemp(join(tmpdir(), 'auditlog-bench-')));
  const dataDir = join(keptIn ?? directory, 'data');
  const variables = namesThreads ? threadNamesEnv(directory) : {};
  const service = await startService({ directory, dataDir, url, checkout, variables, intervals }).catch(
    async (error: unknown) => {
      await rm(directory, { recursive: true, force: true });
      throw error;
    },
  );
  const engine = reachEngine(service.engine);
  const generator = startGenerator();
  const { database } = service.engine;
  const bareDatabase = `${database}_bare`;
  await engine.query(`CREATE DATABASE IF NOT EXISTS ${bareDatabase}`);
  const events = (): Promise<number> => engine.number(`SELECT count() FROM ${database}.events`);
  return {
    directory,
    keptIn,
    service,
    engine,
    generator,
    database,
    bareDatabase,
    async organization(slug) {
      const made = await service.cli(['org', 'create', '--slug', slug, '--name', slug, '--json']);
      const { id } = JSON.parse(made) as { id: string };
      const text = await service.cli(['key', 'create', '--org', slug, '--scopes', 'read,write', '--json']);
      return { id, slug, key: (JSON.parse(text) as { key: string }).key };
    },
    async visible(wanted, everyMs = pollMs) {
      const deadline = performance.now() + visibleMsMax;
      for (;;) {
        const seen = await events();
        if (seen >= wanted) return epochMs();
        if (performance.now() > deadline) throw new Error(`${seen} events of ${wanted} became readable`);
        await sleep(everyMs);
      }
    },
    events,
    async close() {
      generator.stop();
      await service.stop();
      // The embedded engine ended with the service.
      if (url !== undefined) {
        await engine.query(`DROP DATABASE ${bareDatabase}`);
        await engine.query(`DROP DATABASE ${database}`);
      }
      await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}
