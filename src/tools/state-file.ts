import { readIfThere } from '../base/files/durable-file.ts';

/** What a command remembers between runs in a file of JSON; another version has another meaning. */
interface State {
  readonly version: 1;
}

/** Undefined without a file. Throws for another version. */
export async function readState<T extends State>(path: string): Promise<T | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  try {
    const state = JSON.parse(text) as T | null;
    if (state?.version === 1) return state;
  } catch {
    // Not even JSON: told below.
  }
  throw new Error(`${path} is not a checkpoint of this version`);
}
