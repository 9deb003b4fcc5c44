import { markedText } from './marked-text.ts';

interface TextProps {
  readonly text: string;
}

/**
 * A text that others have chosen, such as a name: it changes nothing around it. Where it has characters that nobody could
 * see, marks are drawn in their places; what is copied, or found in the page, is the text itself.
 */
export function Marked({ text }: TextProps) {
  const shown = markedText(text);
  return shown === text ? <bdi>{text}</bdi> : <Drawn text={text} head={shown} tail="" />;
}

const tailCharacters = 10;
const cutCharactersMin = 18;

/** The same, cut in its middle where there is no room: the ends of names and hashes tell them apart. */
export function Middle({ text }: TextProps) {
  // By characters as people see them: half of an emoji is none.
  const characters = Array.from(markedText(text));
  if (characters.length < cutCharactersMin) return <Marked text={text} />;
  const [head, tail] = [characters.slice(0, -tailCharacters), characters.slice(-tailCharacters)];
  return <Drawn text={text} head={head.join('')} tail={tail.join('')} />;
}

interface DrawnProps extends TextProps {
  readonly head: string;
  readonly tail: string;
}

/** The style sheet draws head and tail, over a text that is there for all else. */
function Drawn({ text, head, tail }: DrawnProps) {
  return (
    <span class="drawn" title={head + tail} data-head={head} data-tail={tail}>
      <span>{text}</span>
    </span>
  );
}
