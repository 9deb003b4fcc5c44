/**
 * What `ask` answers, asked at most every `ms` milliseconds: whoever comes in between gets the same answer, also while
 * it is still being asked. A failure goes to those who wait for it and is not kept.
 */
export function shareFor<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
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
