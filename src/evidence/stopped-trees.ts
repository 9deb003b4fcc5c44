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

/** Trees stopped at their own `seq` while others continue. Signs nothing for them until an operator has resolved it. */
export class StoppedTrees {
  readonly #options: StoppedTreesOptions;
  #written = new Map<string, bigint>();
  readonly #stopped = new Set<string>();

  constructor(options: StoppedTreesOptions) {
    this.#options = options;
    const help =
      'Organizations whose trees have stopped: stored events contradict a checkpoint, or cannot be read';
    gauge('auditlog_evidence_contradicted', help, [], (it) => it.set(this.#stopped.size));
  }

  has(organization: string): boolean {
    return this.#stopped.has(organization);
  }

  /** Another process may have changed the record. */
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
        'Evidence contradicts a checkpoint; nothing more is signed for the organization',
      );
  }

  async save(watermark: bigint): Promise<void> {
    for (const organization of this.#stopped) {
      if (this.#written.has(organization)) continue;
      await writeStopped(this.#options.storage, organization, { watermark, stopped: true });
      this.#written.set(organization, watermark);
    }
  }

  /** `addFrom` adds the missing events, or stops the tree again. Rejects as `addFrom` does, or with EngineError. */
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
      this.#options.log.info({ organization }, 'The tree of an organization continues');
    }
  }
}
