type Words = string | RegExp;

/** Code and words of an event of the service, without the number of erased events. */
export function ownEventOf(text: string): string {
  const { activity_id, message, actor } = JSON.parse(text) as {
    readonly activity_id: number;
    readonly message: string;
    readonly actor: { readonly user?: { readonly name?: string } };
  };
  const words = message.replace(/from \d+ events$/, 'from events').replace(/ from a backup of .*/, '');
  // Activity of the service itself.
  return `${activity_id} ${words}${actor.user?.name === 'auditlog' ? ' by itself' : ''}`;
}

/** Retention plans and cancels removals whenever something has expired. */
const plannedRemoval = /^501[78] Removal of \d+ expired events of \S+ (?:planned|cancelled) by itself$/;

/** Events that the service must record about itself, for one organization. */
export class OwnEvents {
  #must: string[] = [];
  readonly #may: Words[] = [];

  /** Exactly one event. */
  must(what: string): void {
    this.#must.push(what);
  }

  /** Up to `times` more events: it is unknown whether it was done, or how often it was recorded. */
  may(what: Words, times = 1): void {
    for (let n = 0; n < times; n++) this.#may.push(what);
  }

  /** `isSure`: it was done; otherwise it may have been. */
  note(what: string, isSure: boolean): void {
    if (isSure) this.must(what);
    else this.may(what);
  }

  /** Events that no follower has got yet may be lost. */
  doubt(seen: readonly string[]): void {
    const lost = without(this.#must, seen);
    this.#must = without(this.#must, lost);
    this.#may.push(...lost);
  }

  missing(seen: readonly string[]): readonly string[] {
    return without(this.#must, seen);
  }

  /** Events without a cause. */
  unexplained(seen: readonly string[]): readonly string[] {
    const may = [...this.#may];
    return without(seen, this.#must).filter((what) => {
      if (plannedRemoval.test(what)) return false;
      const at = may.findIndex((one) => (typeof one === 'string' ? one === what : one.test(what)));
      if (at >= 0) may.splice(at, 1);
      return at < 0;
    });
  }
}

/** A list without one occurrence of each of the others. */
function without(list: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const one of others) counts.set(one, (counts.get(one) ?? 0) + 1);
  return list.filter((one) => {
    const count = counts.get(one) ?? 0;
    counts.set(one, count - 1);
    return count <= 0;
  });
}
