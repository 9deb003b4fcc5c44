import { layOut } from './json-text.ts';
import { escapedJson } from './marked-text.ts';

/** JSON to look at. */
export function JsonView({ text }: { readonly text: string }) {
  return (
    <pre>
      {layOut(text).map(({ text: piece, kind }, index) => (
        <span key={index} class={kind}>
          {escapedJson(piece)}
        </span>
      ))}
    </pre>
  );
}
