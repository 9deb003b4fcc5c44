import { limits } from '../limits.ts';
import { gauge } from './metrics.ts';

/**
 * Kinds of damage to acknowledged data.
 *
 * - `log_segment`: bytes or whole segments of the write-ahead log;
 * - `missing_events`: the table has fewer events of an organization than its tree;
 * - `unreadable`: stored events that the engine cannot read;
 * - `control_data`: lost or changed changes of organizations, users, keys or policies;
 * - `evidence`: the signed tree does not match the events, or cannot be signed.
 */
const kinds = ['log_segment', 'missing_events', 'unreadable', 'control_data', 'evidence'] as const;
type DamageKind = (typeof kinds)[number];

interface Damage {
  readonly kind: DamageKind;
  /** Segment number, part name or month: one damage is reported once. */
  readonly id: string;
  readonly detail: string;
}

/** For `/readyz` and `auditlog_damage_known` (contract: Operations). */
export class DamageRegister {
  readonly #known = new Map<DamageKind, Map<string, Damage>>(kinds.map((kind) => [kind, new Map()]));

  constructor() {
    gauge('auditlog_damage_known', 'Known damage to stored events, by kind.', ['kind'], (known) => {
      for (const kind of kinds) known.set({ kind }, this.#known.get(kind)?.size ?? 0);
    });
  }

  /** True if this damage is new: the caller then logs it. */
  report(damage: Damage): boolean {
    const known = this.#known.get(damage.kind);
    if (known === undefined || known.has(damage.id) || known.size >= limits.damageKnownPerKindMax)
      return false;
    known.set(damage.id, damage);
    return true;
  }

  clear(kind: DamageKind, id: string): void {
    this.#known.get(kind)?.delete(id);
  }

  list(): readonly Damage[] {
    return [...this.#known.values()].flatMap((known) => [...known.values()]);
  }
}
