/** Calls during a run share it. A failure rejects all of them and is not kept. */
export function singleFlight<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** Calls during a run share the next one, so that an answer is newer than its call. */
export function freshSingleFlight<T>(run: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return () => {
    if (next !== undefined) return next;
    next = last.then(() => {
      next = undefined;
      return run();
    });
    last = next.catch(() => undefined);
    return next;
  };
}

/** Single flight whose answer is shared for `ms` milliseconds. */
export function memoizeFor<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  let askedMs = 0;
  return () => {
    const nowMs = performance.now();
    if (answer !== undefined && nowMs - askedMs <= ms) return answer;
    const asked = ask();
    asked.catch(() => {
      if (answer === asked) answer = undefined;
    });
    answer = asked;
    askedMs = nowMs;
    return asked;
  };
}
