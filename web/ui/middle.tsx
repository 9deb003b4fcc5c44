const tailCharacters = 10;
const cutCharactersMin = 18;

/** A text that is cut in its middle where there is no room: the ends of names and hashes tell them apart. */
export function Middle({ text }: { readonly text: string }) {
  // By characters as people see them: half of an emoji is none.
  const characters = Array.from(text);
  if (characters.length < cutCharactersMin) return <span title={text}>{text}</span>;
  return (
    <span class="middle" title={text}>
      <span>{characters.slice(0, -tailCharacters).join('')}</span>
      <span>{characters.slice(-tailCharacters).join('')}</span>
    </span>
  );
}
