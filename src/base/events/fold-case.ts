/** Lower-case letters followed by their simple case folding (CaseFolding.txt, statuses C and S). */
const pairs =
  'µμ ſs \u0345ι ςσ ϐβ ϑθ ϕφ ϖπ ϰκ ϱρ ϵε ᲀв ᲁд ᲂо ᲃс ᲄт ᲅт ᲆъ ᲇѣ ᲈꙋ ẛṡ \u1fbeι \u1fd3\u0390 \u1fe3\u03b0 ﬅﬆ';
const folds: ReadonlyMap<string, string> = new Map(
  pairs.split(' ').map((pair) => [pair.slice(0, 1), pair.slice(1)]),
);
const special = new RegExp(`[${[...folds.keys()].join('')}]`, 'g');
// oxlint-disable-next-line no-control-regex -- the range of ASCII
const beyondAscii = /[^\u0000-\u007f]/;

/**
 * Unicode's simple case folding, with `toLowerCase` for the dotted capital I; for stored and searched texts.
 */
export function foldCase(text: string): string {
  const lower = text.toLowerCase();
  return beyondAscii.test(lower) ? lower.replace(special, (one) => folds.get(one) ?? one) : lower;
}

/** No later letter has a case. */
const lettersEnd = 0x20000;
const surrogates = { start: 0xd800, end: 0xe000 };
let otherSpellings: Map<string, string[]> | undefined;

export function spellingsOf(folded: string): readonly string[] {
  otherSpellings ??= invert();
  return [folded, ...(otherSpellings.get(folded) ?? [])];
}

function invert(): Map<string, string[]> {
  const byFolded = new Map<string, string[]>();
  for (let code = 0; code < lettersEnd; code++) {
    if (code === surrogates.start) code = surrogates.end;
    const one = String.fromCodePoint(code);
    const folded = foldCase(one);
    if (folded === one) continue;
    const others = byFolded.get(folded);
    if (others === undefined) byFolded.set(folded, [one]);
    else others.push(one);
  }
  return byFolded;
}
