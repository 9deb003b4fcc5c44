import { limits } from '../limits.ts';
import { gauge } from './metrics.ts';

/**
 * What is known to be damaged or missing of what was acknowledged:
 *
 * - `log_segment`: a range of, or a whole segment of the write-ahead log, also one that the engine cannot read;
 * - `missing_events`: the table has fewer events of an organization than its tree;
 * - `unreadable`: events that the engine has and cannot read;
 * - `control_data`: changes of organizations, users, keys or policies are missing, or not as they were written;
 * - `evidence`: what was signed for an organization's events is not true of them, or cannot be signed here.
 */
const kinds = ['log_segment', 'missing_events', 'unreadable', 'control_data', 'evidence'] as const;
type DamageKind = (typeof kinds)[number];

interface Damage {
  readonly kind: DamageKind;
  /** Number of a segment, name of a part, a month: one damage is reported once. */
  readonly id: string;
  /** For the operator; no content of events. */
  readonly detail: string;
}

/** The damage that this process knows of, for `/readyz` and `auditlog_damage_known` (contract: Operations). */
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
