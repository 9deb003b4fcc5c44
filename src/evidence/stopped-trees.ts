import type { DamageRegister } from '../base/observability/damage.ts';
import type { Logger } from '../base/observability/log.ts';
import { gauge } from '../base/observability/metrics.ts';
import type { Storage } from '../storage/storage.ts';
import type { Contradiction } from './open-trees.ts';
import { type Progress, writeStopped } from './progress-table.ts';

interface StoppedTreesOptions {
  readonly storage: Storage;
  readonly damage: DamageRegister;
  readonly log: Logger;
}

/**
 * Organizations whose trees stand still, each at a place of its own, while all others go on. Nothing is signed for one
 * until an operator has found out what happened.
 */
export class StoppedTrees {
  readonly #options: StoppedTreesOptions;
  /** Where the trees of those stand that are written down. */
  #written = new Map<string, bigint>();
  readonly #stopped = new Set<string>();

  constructor(options: StoppedTreesOptions) {
    this.#options = options;
    const help =
      'Organizations whose trees stand still: stored events contradict a checkpoint, or cannot be read.';
    gauge('auditlog_evidence_contradicted', help, [], (it) => it.set(this.#stopped.size));
  }

  has(organization: string): boolean {
    return this.#stopped.has(organization);
  }

  /** Takes over what is written down, as another process may have been at it. */
  read({ stopped }: Progress): void {
    this.#written = new Map(stopped);
    this.#stopped.clear();
    for (const organization of stopped.keys()) this.#stopped.add(organization);
  }

  stop({ organization, words }: Contradiction): void {
    this.#stopped.add(organization);
    const isNew = this.#options.damage.report({ kind: 'evidence', id: organization, detail: words });
    if (isNew)
      this.#options.log.error(
        { organization, words },
        'evidence contradicts a checkpoint: nothing more is signed',
      );
  }

  /** Writes down those that are new, at the place that all others leave now. Rejects with EngineError. */
  async save(watermark: bigint): Promise<void> {
    for (const organization of this.#stopped) {
      if (this.#written.has(organization)) continue;
      await writeStopped(this.#options.storage, organization, { watermark, stopped: true });
      this.#written.set(organization, watermark);
    }
  }

  /**
   * Tries each tree that stands still once more: `addFrom` adds what it lacks from its place on, or stops it again. Rejects
   * with what that rejects with, or EngineError.
   */
  async retry(
    watermark: bigint,
    addFrom: (organization: string, from: bigint) => Promise<void>,
  ): Promise<void> {
    for (const [organization, from] of this.#written) {
      this.#stopped.delete(organization);
      try {
        await addFrom(organization, from);
      } catch (error) {
        this.#stopped.add(organization);
        throw error;
      }
      if (this.#stopped.has(organization)) continue;
      await writeStopped(this.#options.storage, organization, { watermark, stopped: false });
      this.#written.delete(organization);
      this.#options.damage.clear('evidence', organization);
      this.#options.log.info({ organization }, 'the tree of an organization goes on');
    }
  }
}
