/** Control and format characters without a shape, but for those that join letters and emoji. */
const shapeless = /(?!\t|\n|\u200c|\u200d|[\u{e0020}-\u{e007f}])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Spaces of all kinds, and letters without a shape. */
const blanks = /^[\s\u115f\u1160\u2800\u3164\uffa0]+$/;
/** A name has one line: characters that would begin another one are drawn as signs. */
const lineSigns: Readonly<Record<string, string>> = { '\n': '↵', '\t': '⇥' };

/** A text with marks in the places of invisible characters. */
export function markedText(text: string): string {
  if (blanks.test(text)) return '␣'.repeat(text.length);
  return text
    .replaceAll(shapeless, (one) => `[U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`)
    .replaceAll(/[\n\t]/g, (one) => lineSigns[one] ?? one);
}

/** JSON text with the same characters as escapes. */
export function escapedJson(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replaceAll(shapeless, (one) => one.split('').map(escaped).join(''));
}

/** A producer's text. Invisible characters are drawn as marks; copying and searching use the text itself. */
export function Marked({ text }: { readonly text: string }) {
  const shown = markedText(text);
  return shown === text ? <bdi>{text}</bdi> : <Drawn text={text} head={shown} tail="" />;
}

const tailCharacters = 10;
const cutCharactersMin = 18;

/** The same text, cut in the middle if there is no room: names and hashes differ at their ends. */
export function Middle({ text }: { readonly text: string }) {
  // By grapheme: half an emoji is not a character.
  const characters = Array.from(markedText(text));
  if (characters.length < cutCharactersMin) return <Marked text={text} />;
  const [head, tail] = [characters.slice(0, -tailCharacters), characters.slice(-tailCharacters)];
  return <Drawn text={text} head={head.join('')} tail={tail.join('')} />;
}

/** The style sheet draws head and tail above the text itself. */
function Drawn({ text, head, tail }: Readonly<Record<'text' | 'head' | 'tail', string>>) {
  return (
    <span class="drawn" title={head + tail} data-head={head} data-tail={tail}>
      <span>{text}</span>
    </span>
  );
}
