/** Controls, of direction as well, and all else without a shape of its own; but what joins letters and emoji. */
const shapeless = /(?!\t|\n|\u200c|\u200d|[\u{e0020}-\u{e007f}])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Spaces of all kinds, and letters that are drawn as nothing. */
const blanks = /^[\s\u115f\u1160\u2800\u3164\uffa0]+$/;
/** A name has one line: what would begin another one, and leave its cell, has a sign. */
const lineSigns: Readonly<Record<string, string>> = { '\n': '↵', '\t': '⇥' };

/** A text as it may be shown: what nobody could see has a mark in its place. */
export function markedText(text: string): string {
  if (blanks.test(text)) return '␣'.repeat(text.length);
  return text
    .replaceAll(shapeless, (one) => `[U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`)
    .replaceAll(/[\n\t]/g, (one) => lineSigns[one] ?? one);
}

/** The text of JSON with the same characters as escapes, which mean the same. */
export function escapedJson(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replaceAll(shapeless, (one) => one.split('').map(escaped).join(''));
}

/**
 * A text that others have chosen, such as a name: it changes nothing around it. Where it has characters that nobody could
 * see, marks are drawn in their places; what is copied, or found in the page, is the text itself.
 */
export function Marked({ text }: { readonly text: string }) {
  const shown = markedText(text);
  return shown === text ? <bdi>{text}</bdi> : <Drawn text={text} head={shown} tail="" />;
}

const tailCharacters = 10;
const cutCharactersMin = 18;

/** The same, cut in its middle where there is no room: the ends of names and hashes tell them apart. */
export function Middle({ text }: { readonly text: string }) {
  // By characters as people see them: half of an emoji is none.
  const characters = Array.from(markedText(text));
  if (characters.length < cutCharactersMin) return <Marked text={text} />;
  const [head, tail] = [characters.slice(0, -tailCharacters), characters.slice(-tailCharacters)];
  return <Drawn text={text} head={head.join('')} tail={tail.join('')} />;
}

/** The style sheet draws head and tail, over a text that is there for all else. */
function Drawn({ text, head, tail }: Readonly<Record<'text' | 'head' | 'tail', string>>) {
  return (
    <span class="drawn" title={head + tail} data-head={head} data-tail={tail}>
      <span>{text}</span>
    </span>
  );
}
