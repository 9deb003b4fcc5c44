/**
 * Letters that are in lower case already, each before the one that Unicode's simple case folding makes of it
 * (CaseFolding.txt, statuses C and S). All other letters fold to their lower case.
 */
const pairs =
  'µμ ſs \u0345ι ςσ ϐβ ϑθ ϕφ ϖπ ϰκ ϱρ ϵε ᲀв ᲁд ᲂо ᲃс ᲄт ᲅт ᲆъ ᲇѣ ᲈꙋ ẛṡ \u1fbeι \u1fd3\u0390 \u1fe3\u03b0 ﬅﬆ';
const folds: ReadonlyMap<string, string> = new Map(
  pairs.split(' ').map((pair) => [pair.slice(0, 1), pair.slice(1)]),
);
const special = new RegExp(`[${[...folds.keys()].join('')}]`, 'g');
// oxlint-disable-next-line no-control-regex -- the range of ASCII
const beyondAscii = /[^\u0000-\u007f]/;

/**
 * The text by which texts are compared wherever case does not count: Unicode's simple case folding, and the dotted capital I
 * is an i with a dot above (U+0307), as in `toLowerCase`. What is stored to be matched, and what is looked for, both go
 * through this function.
 */
export function foldCase(text: string): string {
  const lower = text.toLowerCase();
  return beyondAscii.test(lower) ? lower.replace(special, (one) => folds.get(one) ?? one) : lower;
}

/** No letter beyond has a case. */
const lettersEnd = 0x20000;
const surrogates = { start: 0xd800, end: 0xe000 };
let otherSpellings: Map<string, string[]> | undefined;

/** The characters that fold to a folded one, itself among them. The table is made of `foldCase` when it is first asked. */
export function spellingsOf(folded: string): readonly string[] {
  otherSpellings ??= invert();
  return [folded, ...(otherSpellings.get(folded) ?? [])];
}

function invert(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (let code = 0; code < lettersEnd; code++) {
    if (code === surrogates.start) code = surrogates.end;
    const one = String.fromCodePoint(code);
    const folded = foldCase(one);
    if (folded === one) continue;
    const others = found.get(folded);
    if (others === undefined) found.set(folded, [one]);
    else others.push(one);
  }
  return found;
}
