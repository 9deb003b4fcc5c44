import type { Edit } from './faults.ts';

/** A source with what a fault puts in place of a text of it. Throws where the text does not stand there exactly once. */
export function planted(source: string, { file, find, put }: Edit): string {
  const around = source.split(find);
  if (around.length !== 2) throw new Error(`${file} does not have this once: ${find}`);
  return around.join(put);
}
