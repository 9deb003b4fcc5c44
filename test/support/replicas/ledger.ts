import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { askFeed, type FeedPage } from '../feed.ts';
import { acceptedOf, type AuditEvent, call, eventually } from '../http.ts';
import { type SharedServer, sourceEvent, type Tenant } from '../server.ts';

const year = { startTime: '2024-01-01T00:00:00Z', endTime: '2024-12-31T00:00:00Z' };
const eventsOfRequest = 20;
const writePauseMs = 150;
const followPauseMs = 200;
const checkMsMax = 120_000;

const idOf = (event: AuditEvent): string | undefined => event.extra_map?.['id'] as string | undefined;

/** An organization under load: what was acknowledged, and what a follower of its feed has got. */
class Account {
  tenant: Tenant;
  readonly acknowledged = new Set<string>();
  readonly fed: string[] = [];
  #cursor = '';

  constructor(tenant: Tenant) {
    this.tenant = tenant;
  }

  async write(): Promise<void> {
    const ids = Array.from({ length: eventsOfRequest }, () => randomUUID());
    const events = ids.map((id) => sourceEvent({ timestamp: '2024-05-05T00:00:00Z', extra: { id } }));
    const answer = await this.tenant.post(events).catch(() => undefined);
    if (answer?.status === 202 && acceptedOf(answer).accepted === ids.length)
      for (const id of ids) this.acknowledged.add(id);
  }

  async follow(): Promise<void> {
    const answer = await askFeed(this.tenant, { cursor: this.#cursor, limit: '1000' }).catch(() => undefined);
    if (answer?.status !== 200) return;
    const { data, meta } = JSON.parse(answer.text) as FeedPage;
    this.fed.push(...data.flatMap((event) => idOf(event) ?? []));
    this.#cursor = meta.next_cursor;
  }

  /** What is wrong; undefined: every acknowledged event is in export, pages and feed, once, and the total agrees. */
  async fault(): Promise<string | undefined> {
    const { server, key } = this.tenant;
    const target = `${server.url}/api/v1/audit/export?format=ndjson&${new URLSearchParams(year).toString()}`;
    const file = await call(target, { headers: { 'x-api-key': key } }).catch(() => undefined);
    if (file?.status !== 200) return `the export answers ${file?.status}`;
    const lines = file.text.split('\n').filter((line) => line !== '');
    const exported = lines.flatMap((line) => idOf(JSON.parse(line) as AuditEvent) ?? []);
    const paged: string[] = [];
    for (let offset = 0, total = 1; offset < total; offset += 1000) {
      const query = { ...year, limit: '1000', offset: String(offset) };
      const answer = await this.tenant.get(query).catch(() => undefined);
      if (answer?.status !== 200) return `a page answers ${answer?.status}`;
      const page = JSON.parse(answer.text) as { data: AuditEvent[]; meta: { total: number } };
      total = page.meta.total;
      if (total !== exported.length) return `the total is ${total}, the export has ${exported.length}`;
      paged.push(...page.data.flatMap((event) => idOf(event) ?? []));
    }
    return (
      this.#compare('export', exported) ?? this.#compare('pages', paged) ?? this.#compare('feed', this.fed)
    );
  }

  #compare(where: string, ids: readonly string[]): string | undefined {
    const found = new Set(ids);
    assert.equal(found.size, ids.length, `the ${where} has events twice`);
    const missing = [...this.acknowledged].filter((id) => !found.has(id)).length;
    return missing === 0 ? undefined : `the ${where} lacks ${missing} of ${this.acknowledged.size} events`;
  }
}

/** Writes events of several organizations, follows their feeds, and compares what was acknowledged with what can be read. */
export class Ledger {
  readonly #accounts: readonly Account[];
  readonly #running: Promise<void>[];
  #isPaused = false;
  #isOver = false;
  #writing = 0;

  constructor(tenants: readonly Tenant[]) {
    this.#accounts = tenants.map((tenant) => new Account(tenant));
    this.#running = this.#accounts.flatMap((account) => [this.#write(account), this.#follow(account)]);
  }

  get acknowledged(): number {
    return this.#accounts.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0);
  }

  /** What was written to and read from a server goes to another one from now on. */
  moveTo(old: SharedServer, server: SharedServer): void {
    for (const account of this.#accounts)
      if (account.tenant.server === old) account.tenant = account.tenant.with({ server });
  }

  async check(after: string, msMax = checkMsMax): Promise<void> {
    await this.settle(after, msMax);
    this.#isPaused = false;
  }

  /** Waits until every acknowledged event is everywhere, once. Nothing is written from now on until the next `check`. */
  async settle(after: string, msMax = checkMsMax): Promise<void> {
    this.#isPaused = true;
    await eventually('writers to pause', async () => (this.#writing === 0 ? true : undefined));
    for (const account of this.#accounts) {
      let fault: string | undefined;
      await eventually(
        `all events after ${after}`,
        async () => ((fault = await account.fault()) === undefined ? true : undefined),
        msMax,
      ).catch((error: unknown) => {
        throw new Error(`${after}: ${fault}`, { cause: error });
      });
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  async #write(account: Account): Promise<void> {
    while (!this.#isOver) {
      await sleep(writePauseMs);
      if (this.#isPaused) continue;
      this.#writing += 1;
      await account.write();
      this.#writing -= 1;
    }
  }

  async #follow(account: Account): Promise<void> {
    while (!this.#isOver) {
      await sleep(followPauseMs);
      await account.follow();
    }
  }
}
