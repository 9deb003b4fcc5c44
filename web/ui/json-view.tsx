import { useMemo, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { layOut } from './json-text.ts';
import { escapedJson } from './marked.tsx';
import { t } from './text.ts';

/** Some hundred lines, which a browser lays out quickly. */
const charactersAtOnce = 40_000;
/** A member's name includes its colon. */
const strings = /("(?:[^"\\]|\\.)*":?)/;

/** The beginning of a JSON text, with a button for more. */
export function JsonView({ text }: { readonly text: string }) {
  const laidOut = useMemo(() => layOut(text), [text]);
  const [count, setCount] = useState(charactersAtOnce);
  const rest = laidOut.length - count;
  const pieces = laidOut.slice(0, count).split(strings);
  return (
    <>
      <pre>
        {pieces.map((piece, index) => (
          <span key={index} class={piece.endsWith('":') ? 'key' : undefined}>
            {escapedJson(piece)}
          </span>
        ))}
      </pre>
      {rest > 0 && (
        <Button look="small" onClick={() => setCount(count + 2 * charactersAtOnce)}>
          {t('jsonMore', { n: rest })}
        </Button>
      )}
    </>
  );
}
