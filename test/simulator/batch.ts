import type { ModelEvent } from './model.ts';

type Fields = Pick<Batch, 'number' | 'events' | 'headers' | 'body' | 'idempotencyKey'>;

/** How the events of one request fared. While nobody knows, each of its persons waits (`pending`). */
export class Batch {
  readonly number: number;
  /** In the order of the body. */
  readonly sent: readonly ModelEvent[];
  /** Without those that the service has refused. */
  events: readonly ModelEvent[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly idempotencyKey: string | undefined;
  answer: string | undefined;
  /** A file may be stored in part. */
  isWhole = true;
  /** Whether its Idempotency-Key is known for certain: not where a file of the log was lost. */
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

  /** `maybe`: no answer came, or what was stored may be lost. All of it is stored, or nothing. */
  get state(): 'maybe' | 'stored' | 'absent' {
    return this.#state;
  }

  end(state: 'stored' | 'absent'): void {
    if (this.#state === 'maybe') this.#wait(-1);
    this.#state = state;
  }

  /** From now on nobody knows, until it is looked for at rest. */
  doubt(): void {
    if (this.#state !== 'maybe') this.#wait(1);
    this.#state = 'maybe';
  }

  /** To send it again may store it: not where a person of it has been taken out meanwhile. */
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
