import type { TopValues } from '../api/types.ts';
import { limits } from './limits.ts';
import type { FilterName } from './query.ts';
import { severityName, statusName } from './words.ts';

/** A filter that typed text may mean. */
export interface Suggestion {
  readonly name: FilterName;
  readonly value: string;
  /** As people read the value. */
  readonly words: string;
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const hash = /^[0-9a-f]{16,128}$/i;

/**
 * Filters for a text, the likeliest first. The server compares whole values, so parts of names are looked for among what
 * is most frequent in the range; the text itself may always be the name of a file, an address or an id.
 */
export function suggest(text: string, top: TopValues['data'] | undefined): Suggestion[] {
  const typed = text.trim();
  if (typed === '') return [];
  const plain = (name: FilterName): Suggestion => ({ name, value: typed, words: typed });
  const isIn = (...texts: (string | undefined)[]) =>
    texts.some((one) => one?.toLowerCase().includes(typed.toLowerCase()) === true);
  const found: Suggestion[] = [];
  if (uuid.test(typed)) found.push(plain('flowId'));
  if (hash.test(typed)) found.push(plain('fileHash'));
  for (const { email_addr: value, name } of top?.actors ?? []) {
    if (isIn(value, name))
      found.push({ name: 'actor', value, words: name === undefined ? value : `${name} · ${value}` });
  }
  const actors = found.slice(0, limits.suggestionsMax / 2);
  const activities = (top?.activities ?? [])
    .filter(({ activity_name: words }) => isIn(words))
    .slice(0, limits.suggestionsMax / 2)
    .map(({ activity_id: id, activity_name: words }) => ({
      name: 'activity' as const,
      value: String(id),
      words,
    }));
  const states = (['Failure', 'Success'] as const)
    .filter((value) => isIn(value, statusName(value)))
    .map((value) => ({ name: 'status' as const, value, words: statusName(value) }));
  const severities = (['High', 'Medium', 'Informational'] as const)
    .filter((value) => isIn(value, severityName(value)))
    .map((value) => ({ name: 'severity' as const, value, words: severityName(value) }));
  const asTyped: FilterName[] = typed.includes('@')
    ? ['actor', 'fileName', 'userId']
    : ['fileName', 'userId', 'fileHash'];
  const known = [...actors, ...states, ...activities, ...severities];
  const others = asTyped
    .filter(
      (name) => !known.some((one) => one.name === name && one.value.toLowerCase() === typed.toLowerCase()),
    )
    .map(plain);
  return [...known, ...others].slice(0, limits.suggestionsMax);
}
