import { Mutex } from '../base/waiting/keyed-mutex.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { counter, gauge } from '../base/observability/metrics.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { consistencyRanges } from '../tlog/tree.ts';
import type { CheckpointTable, SignedCheckpoint } from './checkpoint-table.ts';
import { limits } from './limits.ts';
import type { TreeReader } from './tree-reader.ts';
import type { Witness } from './witness.ts';

/** A checkpoint that is to be cosigned; both maps are by the name of the witness. */
interface Asked {
  readonly checkpoint: SignedCheckpoint;
  /** Signatures: lines of a note. */
  readonly lines: Map<string, string>;
  /** One that has failed is not asked again before this: `performance.now()`. */
  readonly notBeforeMs: Map<string, number>;
}

interface WitnessesOptions {
  readonly witnesses: readonly Witness[];
  readonly tree: TreeReader;
  readonly checkpoints: CheckpointTable;
  readonly log: Logger;
}

/**
 * Has the newest checkpoint of each organization cosigned, behind whoever signs them: nobody waits for a witness, and
 * no witness for another. The checkpoint is stored again with the lines of those that have cosigned; one that has not
 * is asked again later, unless there is a newer checkpoint by then.
 */
export class Witnesses {
  readonly #options: WitnessesOptions;
  /** By organization. */
  readonly #waiting = new Map<string, Asked>();
  readonly #loops: readonly Repeated[];
  readonly #storing = new Mutex();
  readonly #failing = new Set<string>();
  readonly #asked = counter(
    'auditlog_evidence_witness_asked_total',
    'Checkpoints that a witness was asked to cosign.',
    ['witness', 'outcome'],
  );

  constructor(options: WitnessesOptions) {
    this.#options = options;
    this.#loops = options.witnesses.map(
      (witness) =>
        new Repeated(
          limits.witnessEveryMs,
          (signal) => this.#askFor(witness, signal),
          (error) => options.log.warn(errorFacts(error), 'a cosignature could not be stored yet'),
        ),
    );
    gauge(
      'auditlog_evidence_uncosigned',
      'Organizations whose newest checkpoint waits for a witness.',
      [],
      (metric) => metric.set(this.#waiting.size),
    );
  }

  /** Takes new checkpoints in place of older ones of the same organizations. */
  add(checkpoints: readonly SignedCheckpoint[]): void {
    for (const checkpoint of checkpoints) {
      this.#waiting.delete(checkpoint.organization);
      this.#waiting.set(checkpoint.organization, { checkpoint, lines: new Map(), notBeforeMs: new Map() });
    }
    // Where there are too many, those that have waited longest: their next checkpoint covers as much.
    for (const organization of this.#waiting.keys()) {
      if (this.#waiting.size <= limits.witnessOrganizationsMax) return;
      this.#waiting.delete(organization);
    }
  }

  /** Resolves when nobody is asked any more. */
  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((one) => one.stop()));
  }

  async #askFor(witness: Witness, signal: AbortSignal): Promise<void> {
    const { name } = witness;
    const isDue = ({ lines, notBeforeMs }: Asked): boolean =>
      !lines.has(name) && (notBeforeMs.get(name) ?? 0) <= performance.now();
    const due = [...this.#waiting.values()].filter(isDue);
    for (let at = 0; at < due.length && !witness.isPaused; at += limits.witnessOrganizationsAtOnce) {
      const some = due.slice(at, at + limits.witnessOrganizationsAtOnce);
      const cosigned = await Promise.all(some.map((one) => this.#ask(witness, one, signal)));
      signal.throwIfAborted();
      await this.#store(
        name,
        some.filter((_, index) => cosigned[index] === true),
      );
    }
  }

  /** Whether it has cosigned. */
  async #ask(witness: Witness, asked: Asked, signal: AbortSignal): Promise<boolean> {
    const { checkpoint, lines, notBeforeMs } = asked;
    try {
      lines.set(
        witness.name,
        await witness.cosign(checkpoint, (older) => this.#proof(checkpoint, older), signal),
      );
      this.#tell(witness.name, undefined);
      return true;
    } catch (error) {
      notBeforeMs.set(witness.name, performance.now() + limits.witnessAgainMs);
      if (!signal.aborted) this.#tell(witness.name, error);
      return false;
    }
  }

  /** Stores checkpoints anew, with all lines that there are; one after the other, so that the last has the most. */
  async #store(name: string, cosigned: readonly Asked[]): Promise<void> {
    if (cosigned.length === 0) return;
    try {
      await this.#storing.run(() =>
        this.#options.checkpoints.insert(
          cosigned.map(({ checkpoint, lines }) => ({
            ...checkpoint,
            note: checkpoint.note + [...lines.values()].join(''),
          })),
        ),
      );
    } catch (error) {
      for (const { lines } of cosigned) lines.delete(name);
      throw error;
    }
    for (const asked of cosigned) {
      const { organization } = asked.checkpoint;
      const isDone = asked.lines.size === this.#options.witnesses.length;
      if (isDone && this.#waiting.get(organization) === asked) this.#waiting.delete(organization);
    }
  }

  async #proof({ organization, size }: SignedCheckpoint, older: number): Promise<readonly Uint8Array[]> {
    if (older === 0 || older === size) return [];
    const hashes = await this.#options.tree.hashes(organization, consistencyRanges(older, size));
    if (hashes === undefined) throw new Error('the tree has fewer events than its checkpoint');
    return hashes;
  }

  /** One line of the log where a witness begins to fail, and one where that is over. */
  #tell(witness: string, error: unknown): void {
    const { log } = this.#options;
    this.#asked.inc({ witness, outcome: error === undefined ? 'cosigned' : 'failed' });
    if (error === undefined) {
      if (this.#failing.delete(witness)) log.info({ witness }, 'the witness cosigns again');
    } else if (!this.#failing.has(witness)) {
      this.#failing.add(witness);
      log.warn({ witness, ...errorFacts(error) }, 'the witness has not cosigned a checkpoint');
    }
  }
}
