import { within } from '../base/waiting/within.ts';
import { parseNote, parseVerifierKey, type Verifier, verifyNote } from '../tlog/note.ts';
import type { SignedCheckpoint } from './checkpoint-table.ts';
import { limits } from './limits.ts';

/** A witness as the operator names it. */
export interface WitnessAddress {
  /** `name+id+key`, of the type for cosignatures. */
  readonly key: string;
  /** What stands before `/add-checkpoint`. */
  readonly url: string;
}

/** The hashes that lead from the tree of so many events to that of the checkpoint. */
export type ProofFrom = (older: number) => Promise<readonly Uint8Array[]>;

/** Type of an answer that tells which size a witness has cosigned. */
const sizeType = 'text/x.tlog.size';

/**
 * Somebody else who signs a checkpoint if it continues those before it (C2SP tlog-witness), asked by
 *
 *     POST URL/add-checkpoint
 *
 *     old <events of the checkpoint that it has cosigned last>
 *     <hash of the proof, base64>
 *     …
 *
 *     <checkpoint>
 */
export class Witness {
  readonly #verifier: Verifier;
  readonly #url: string;
  /** Events of the last checkpoint that it has cosigned, by organization; a wrong guess costs one more request. */
  readonly #sizes = new Map<string, number>();
  /** Until then it is left alone: `performance.now()`. */
  #pausedUntilMs = 0;

  /** Throws NoteError where the key is none. */
  constructor({ key, url }: WitnessAddress) {
    this.#verifier = parseVerifierKey(key);
    this.#url = `${url.replace(/\/+$/, '')}/add-checkpoint`;
  }

  get name(): string {
    return this.#verifier.name;
  }

  /** It did not answer, or not for reasons of its own: so nobody waits for it once for each organization. */
  get isPaused(): boolean {
    return performance.now() < this.#pausedUntilMs;
  }

  /** Its signature, a line of a note. Rejects where it gives none, gives one that is wrong, or takes too long. */
  cosign(checkpoint: SignedCheckpoint, proofFrom: ProofFrom, signal: AbortSignal): Promise<string> {
    return within(limits.witnessMsMax, signal, (ending) => this.#cosign(checkpoint, proofFrom, ending));
  }

  async #cosign(checkpoint: SignedCheckpoint, proofFrom: ProofFrom, signal: AbortSignal): Promise<string> {
    const { organization, size, note } = checkpoint;
    const guess = Math.min(this.#sizes.get(organization) ?? 0, size);
    let answer = await this.#post(note, guess, await proofFrom(guess), signal);
    const known = sizeIn(answer);
    if (known !== undefined && known !== guess) {
      if (known > size) throw new Error(`it has cosigned ${known} events of this log, which has ${size}`);
      answer = await this.#post(note, known, await proofFrom(known), signal);
    }
    if (answer.status !== 200) throw new Error(`it answered ${answer.status}`);
    const line = this.#lineIn(note, answer.text);
    this.#remember(organization, size);
    return line;
  }

  async #post(
    note: string,
    older: number,
    proof: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<Answer> {
    const hashes = proof.map((hash) => `${Buffer.from(hash).toString('base64')}\n`).join('');
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        headers: { 'Content-Type': 'text/plain; charset=utf-8' },
        body: `old ${older}\n${hashes}\n${note}`,
        redirect: 'manual',
        signal,
      });
      const { status, headers } = response;
      if (status === 429 || status >= 500) throw new Error(`it answered ${status}`);
      return { status, type: headers.get('content-type') ?? '', text: await textOf(response) };
    } catch (error) {
      this.#pausedUntilMs = performance.now() + limits.witnessAgainMs;
      throw error;
    }
  }

  /** Lines of other keys are passed over. Throws NoteError where its own is wrong or missing. */
  #lineIn(note: string, lines: string): string {
    const cosigned = parseNote(`${parseNote(note).text}\n${lines}`);
    verifyNote(cosigned, [this.#verifier]);
    const { name, id } = this.#verifier;
    return cosigned.signatures.find((one) => one.name === name && one.id === id)?.line ?? '';
  }

  #remember(organization: string, size: number): void {
    this.#sizes.delete(organization);
    this.#sizes.set(organization, size);
    if (this.#sizes.size <= limits.witnessOrganizationsMax) return;
    const [first] = this.#sizes.keys();
    if (first !== undefined) this.#sizes.delete(first);
  }
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

function sizeIn({ status, type, text }: Answer): number | undefined {
  if (status !== 409 || type !== sizeType || !/^(?:0|[1-9]\d{0,15})\n$/.test(text)) return undefined;
  return Number(text);
}

async function textOf({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += piece.length;
    if (bytes > limits.witnessAnswerBytesMax) throw new Error('its answer is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
