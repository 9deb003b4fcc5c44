import { eventually } from '../http.ts';

/** Calls `work` until it resolves: while a node is down, or its quorum waits on a busy machine, it rejects. */
export async function again<T>(what: string, work: () => Promise<T>): Promise<T> {
  let failure: unknown;
  const attempt = () =>
    work().then(
      (result) => ({ result }),
      (error: unknown) => {
        failure = error;
        return undefined;
      },
    );
  try {
    return (await eventually(what, attempt)).result;
  } catch (error) {
    throw new AggregateError([failure], String(error), { cause: error });
  }
}
