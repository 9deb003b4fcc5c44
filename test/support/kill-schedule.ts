/** What the kill test does at random, and how a seed (`KILL_SEED`) gives it again. */

export interface Death {
  /** Since the death before, or since the clients began. */
  readonly afterMs: number;
  readonly of: 'engine' | 'server' | 'both';
}

const afterMsMin = 100;
const afterMsMax = 800;

/** The seed that is asked for, else a new one. */
export function killSeed(asked: string | undefined): number {
  return asked === undefined ? Math.floor(Math.random() * 1e9) : Number(asked);
}

/**
 * Numbers in [0, 1) that the seed and `stream` decide alone. What dies and when has a stream of its own, and so has
 * each client: whatever the others draw meanwhile, a seed gives the same deaths and batches again.
 */
export function randomOf(seed: number, stream: number): () => number {
  let state = (seed ^ Math.imul(stream + 1, 0x9e3779b1)) & 0x7fffffff;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

/** One death after the other: of the engine alone (the server must bring it back), of the server, or of both at once. */
export function* deathsOf(seed: number): Generator<Death, never, undefined> {
  const random = randomOf(seed, 0);
  for (;;) {
    const afterMs = afterMsMin + random() * (afterMsMax - afterMsMin);
    const choice = random();
    yield { afterMs, of: choice < 0.4 ? 'engine' : choice < 0.7 ? 'both' : 'server' };
  }
}

/** How many events each batch of a client has, and whether it is sent until it is answered. */
export function* batchesOf(
  seed: number,
  client: number,
): Generator<{ readonly events: number; readonly isRepeated: boolean }, never, undefined> {
  const random = randomOf(seed, client + 1);
  for (;;) yield { events: 1 + Math.floor(random() * 40), isRepeated: random() < 0.5 };
}
