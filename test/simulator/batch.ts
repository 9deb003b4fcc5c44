import type { ModelEvent } from './model.ts';

type Fields = Pick<Batch, 'number' | 'events' | 'headers' | 'body' | 'idempotencyKey'>;

/** The events of one request. While its result is unknown, each of its persons waits (`pending`). */
export class Batch {
  readonly number: number;
  /** In the order of the body. */
  readonly sent: readonly ModelEvent[];
  /** Without refused ones. */
  events: readonly ModelEvent[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly idempotencyKey: string | undefined;
  answer: string | undefined;
  /** A file may be stored in part. */
  isWhole = true;
  /** Its Idempotency-Key is surely known: not after the loss of a file of the log. */
  isRemembered = true;
  #state: 'maybe' | 'stored' | 'absent' = 'maybe';

  constructor(fields: Fields) {
    this.number = fields.number;
    this.sent = fields.events;
    this.events = fields.events;
    this.headers = fields.headers;
    this.body = fields.body;
    this.idempotencyKey = fields.idempotencyKey;
    this.#wait(1);
  }

  /** `maybe`: no answer, or the events may be lost. All of it is stored, or nothing. */
  get state(): 'maybe' | 'stored' | 'absent' {
    return this.#state;
  }

  end(state: 'stored' | 'absent'): void {
    if (this.#state === 'maybe') this.#wait(-1);
    this.#state = state;
  }

  /** Its result is unknown until the next check at rest. */
  doubt(): void {
    if (this.#state !== 'maybe') this.#wait(1);
    this.#state = 'maybe';
  }

  /** A repeat may store it, unless one of its persons was erased meanwhile. */
  get isRepeatable(): boolean {
    return (
      this.#state === 'stored' ||
      this.events.every(({ persons }) => persons.every(({ state }) => state === 'here'))
    );
  }

  #wait(by: 1 | -1): void {
    for (const person of new Set(this.events.flatMap(({ persons }) => persons))) person.pending += by;
  }
}
