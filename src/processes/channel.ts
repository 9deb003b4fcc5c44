import { messageOf } from '../base/errors/system-error.ts';
import { limits } from './limits.ts';

/** What one process asks another, by name: what it gives along, and what it gets. All of it is JSON. */
export type Questions = Readonly<Record<string, { readonly given: unknown; readonly got: unknown }>>;

type Message =
  | { readonly ask: string; readonly id: number; readonly given?: unknown }
  | { readonly id: number; readonly got?: unknown; readonly failed?: string };

/** The part of a process, this one or a child, that messages go through. */
export interface Port {
  readonly connected: boolean;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  on(event: 'disconnect', listener: () => void): unknown;
  send?: ((message: Message, callback: (error: Error | null) => void) => boolean) | undefined;
}

type Answers<Asked extends Questions> = {
  readonly [Name in keyof Asked]: (given: Asked[Name]['given']) => Promise<Asked[Name]['got']>;
};

interface Waiting {
  resolve(got: unknown): void;
  reject(error: Error): void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Questions and answers between a process and its child. `Own` are those that this side asks, `Others` those that it
 * answers.
 */
export class Channel<Own extends Questions, Others extends Questions> {
  readonly #port: Port;
  readonly #answers: Answers<Others>;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  constructor(port: Port, answers: Answers<Others>) {
    this.#port = port;
    this.#answers = answers;
    port.on('message', (message) => void this.#take(message as Message));
    port.on('disconnect', () => {
      for (const { reject, timer } of this.#waiting.values()) {
        clearTimeout(timer);
        reject(new Error('the other process has gone'));
      }
      this.#waiting.clear();
    });
  }

  /** Rejects with what the other side has to say, when it has gone, or when it takes longer than `timeoutMs`. */
  ask<Name extends keyof Own & string>(
    name: Name,
    given: Own[Name]['given'],
    timeoutMs: number = limits.askMsMax,
  ): Promise<Own[Name]['got']> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new Error(`the other process did not answer "${name}" in time`));
      }, timeoutMs);
      this.#waiting.set(id, { resolve, reject, timer });
      this.#send({ ask: name, id, given });
    });
  }

  async #take(message: Message): Promise<void> {
    if (!('ask' in message)) return this.#settle(message);
    const { ask, id, given } = message;
    const answer = this.#answers[ask];
    try {
      if (answer === undefined) throw new Error(`nobody answers "${ask}"`);
      this.#send({ id, got: await answer(given) });
    } catch (error) {
      this.#send({ id, failed: messageOf(error) });
    }
  }

  #settle({ id, got, failed }: Exclude<Message, { ask: string }>): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    if (failed === undefined) waiting.resolve(got);
    else waiting.reject(new Error(failed));
  }

  /** To a process that has gone nothing can be said; who waits for its answer is told by `disconnect`. */
  #send(message: Message): void {
    if (!this.#port.connected) {
      if ('ask' in message) this.#settle({ id: message.id, failed: 'the other process has gone' });
      return;
    }
    this.#port.send?.(message, (error) => {
      if (error !== null && 'ask' in message) this.#settle({ id: message.id, failed: error.message });
    });
  }
}
