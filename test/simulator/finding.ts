import { limits } from './limits.ts';

/** Something that must never be: which check saw it, and what. A shrunk run must fail at the same check. */
export class Finding extends Error {
  readonly check: string;

  constructor(check: string, detail: string) {
    super(`${check}: ${detail}`);
    this.name = 'Finding';
    this.check = check;
  }
}

export function hold(condition: boolean, check: string, detail: () => string): asserts condition {
  if (!condition) throw new Finding(check, detail());
}

/** The beginning of a text, for people. */
export function brief(text: string, charactersMax: number = limits.shownCharactersMax): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}… (${text.length} characters)`;
}

/** Where two texts part, with what stands there. */
export function difference(shown: string | undefined, expected: string | undefined): string {
  if (shown === undefined || expected === undefined)
    return `shown ${brief(shown ?? 'nothing')}\nexpected ${brief(expected ?? 'nothing')}`;
  let at = 0;
  while (at < shown.length && shown[at] === expected[at]) at += 1;
  const from = Math.max(0, at - 120);
  return `at character ${at}\nshown    …${brief(shown.slice(from))}\nexpected …${brief(expected.slice(from))}`;
}
