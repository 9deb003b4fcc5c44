import { readIfThere } from '../base/files/durable-file.ts';

/** A command's state between runs, as JSON; the version states the meaning. */
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
    // Not JSON: reported below.
  }
  throw new Error(`${path} is not a checkpoint of this version`);
}
