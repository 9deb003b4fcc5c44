import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { call, eventually } from '../../support/http.ts';
import { freePort } from '../../support/plain-engine.ts';

/**
 * A real Prometheus that asks running services every three seconds. The waiting times of the alerts (`for`) are left out:
 * promtool tests those.
 */

const alertsFile = 'deploy/prometheus/alerts.yml';
/** Of a wait for an alert, on a quiet machine: what ends first is the wait that says what it waited for, not the test. */
export const alertMsMax = 40_000;
/** Metrics wait up to two seconds for an engine that is stopped. */
const scrapeSeconds = 3;

/** A service that is asked; `job` as the rules name it. */
export interface Target {
  readonly job: string;
  readonly port: number;
  /** The authority of its certificate, where it is behind TLS. */
  readonly caFile?: string;
}

/** One of what an expression gives. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export class TestPrometheus {
  readonly #child: ChildProcess;
  readonly #directory: string;
  readonly #url: string;
  readonly #expressions: ReadonlyMap<string, string>;

  private constructor(
    child: ChildProcess,
    directory: string,
    url: string,
    expressions: ReadonlyMap<string, string>,
  ) {
    this.#child = child;
    this.#directory = directory;
    this.#url = url;
    this.#expressions = expressions;
  }

  /** Resolves once it has an answer of each target. */
  static async start(targets: readonly Target[]): Promise<TestPrometheus> {
    const directory = await mkdtemp(join(tmpdir(), 'alerts-'));
    const file = join(directory, 'prometheus.yml');
    await writeFile(file, JSON.stringify(configurationOf(targets)));
    const port = await freePort();
    const storage = `--storage.tsdb.path=${join(directory, 'data')}`;
    const where = [`--config.file=${file}`, storage, `--web.listen-address=127.0.0.1:${port}`];
    const child = spawn('prometheus', where, { stdio: 'ignore' });
    await once(child, 'spawn');
    const url = `http://127.0.0.1:${port}`;
    const prometheus = new TestPrometheus(child, directory, url, await expressionsOfAlerts());
    try {
      await eventually(
        'Prometheus to have asked',
        async () => (await prometheus.#hasAsked(targets.length)) || undefined,
        alertMsMax,
      );
    } catch (error) {
      await prometheus.stop();
      throw error;
    }
    return prometheus;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null) {
      const closed = once(this.#child, 'close');
      this.#child.kill('SIGKILL');
      await closed;
    }
    await rm(this.#directory, { recursive: true });
  }

  /** What an expression gives now. Throws for one that is none. */
  async ask(expression: string): Promise<readonly Series[]> {
    const query = new URLSearchParams({ query: expression });
    const { status, text } = await call(`${this.#url}/api/v1/query?${query.toString()}`);
    assert.equal(status, 200, `${expression}: ${text}`);
    const { data } = JSON.parse(text) as {
      data: { result: { metric: Series['labels']; value: [number, string] }[] };
    };
    return data.result.map(({ metric, value: [, value] }) => ({ labels: metric, value: Number(value) }));
  }

  async holds(expression: string): Promise<boolean> {
    return (await this.ask(expression)).length > 0;
  }

  async holdsOf(alert: string): Promise<boolean> {
    const expression = this.#expressions.get(alert);
    assert.ok(expression !== undefined, `${alertsFile} has no alert ${alert}`);
    return this.holds(expression);
  }

  /** Waits until the expression of an alert holds; `cause` comes before each look. */
  async fires(alert: string, cause: () => Promise<unknown> = async () => undefined): Promise<void> {
    await eventually(
      `the expression of ${alert} to hold`,
      async () => {
        await cause();
        return (await this.holdsOf(alert)) || undefined;
      },
      alertMsMax,
      500,
    );
  }

  async quiet(alert: string): Promise<void> {
    assert.equal(await this.holdsOf(alert), false, `${alert} fires while all is well`);
  }

  async #hasAsked(targets: number): Promise<boolean> {
    try {
      return await this.holds(`sum(up) == ${targets}`);
    } catch {
      // It is starting.
      return false;
    }
  }
}

function configurationOf(targets: readonly Target[]): object {
  return {
    global: {
      scrape_interval: `${scrapeSeconds}s`,
      scrape_timeout: `${scrapeSeconds}s`,
      evaluation_interval: '1s',
    },
    rule_files: [resolve(alertsFile)],
    scrape_configs: targets.map(({ job, port, caFile }) => ({
      job_name: job,
      ...(caFile !== undefined && { scheme: 'https', tls_config: { ca_file: caFile } }),
      static_configs: [{ targets: [`127.0.0.1:${port}`] }],
    })),
  };
}

async function expressionsOfAlerts(): Promise<ReadonlyMap<string, string>> {
  const { groups } = parse(await readFile(alertsFile, 'utf8')) as {
    groups: { rules: { alert: string; expr: string }[] }[];
  };
  return new Map(groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr] as const)));
}
