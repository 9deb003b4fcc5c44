import { idIn } from '../events.ts';
import { brief, hold } from '../finding.ts';
import type { ModelOrganization } from '../model.ts';
import { ownEventOf } from '../own-events.ts';
import { patiently, until } from '../waiting.ts';
import { limits } from '../limits.ts';
import type { World } from '../world.ts';
import { elementsOf } from './json-elements.ts';
import { compareRendering } from './rendering.ts';

/** A follower of an organization's feed from the beginning. All must see the same order. */
export class Follower {
  readonly organization: ModelOrganization;
  readonly #limit: number;
  #cursor = '';
  readonly #ids = new Set<string>();
  /** Events of the simulator, in the order received. */
  readonly seen: string[] = [];
  /** Events of the service. */
  readonly own: string[] = [];

  constructor(organization: ModelOrganization, limit: number) {
    this.organization = organization;
    this.#limit = limit;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Events lost by a restore, which may come again. The cursor stays valid. */
  forget(lost: ReadonlySet<string>): void {
    for (const id of lost) this.#ids.delete(id);
    this.seen.splice(0, this.seen.length, ...this.seen.filter((id) => !lost.has(id)));
  }

  /** Reads one page. Resolves with whether there is more. */
  async poll(world: World, waitSeconds = 0): Promise<boolean> {
    const query = new URLSearchParams({
      cursor: this.#cursor,
      limit: String(this.#limit),
      wait: String(waitSeconds),
    });
    const answer = await world.read(this.organization, `/api/v1/audit/feed?${query.toString()}`);
    if (answer === undefined) return false;
    const { meta } = JSON.parse(answer.text) as { meta: { next_cursor: string; has_more: boolean } };
    const texts = elementsOf(answer.text, '"data":[');
    this.#cursor = meta.next_cursor;
    for (const text of texts) this.#take(world, text);
    return meta.has_more;
  }

  #take(world: World, text: string): void {
    const id = idIn(text);
    if (id === undefined) {
      this.own.push(ownEventOf(text));
      return;
    }
    hold(!this.#ids.has(id), 'the feed gives each event once', () => `${id} was given again`);
    const known = this.organization.events.get(id);
    hold(known !== undefined, 'every event was sent by somebody', () => `${id}: ${brief(text)}`);
    hold(
      known.batch.state !== 'absent' || known.batch.idempotencyKey !== undefined,
      'nothing comes below what the feed has handed out',
      () => `${id} was not there when later events were`,
    );
    compareRendering(world, this.organization, known.event, text, 'the feed');
    this.#ids.add(id);
    this.seen.push(id);
  }

  /** Resolves when the follower has got an event. */
  async sees(world: World, id: string): Promise<void> {
    const since = performance.now();
    await until(
      'the feed goes on',
      () => `${this.organization.slug}: ${id} did not come, after ${this.seen.length} others`,
      async () => {
        while (!this.has(id) && (await this.poll(world))) {
          // A slow feed is not a stalled one.
          if (performance.now() - since > patiently(limits.operationMsMax)) return undefined;
        }
        return this.has(id) || undefined;
      },
    );
  }
}
