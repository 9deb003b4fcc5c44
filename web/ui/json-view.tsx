import { useMemo, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { formatNumber } from './format.ts';
import { layOut } from './json-text.ts';
import { escapedJson } from './marked.tsx';
import { t } from './text.ts';

/** Some hundred lines: a browser lays out no more at once than people look at. */
const piecesAtOnce = 2_000;

/** JSON to look at: its beginning, and as much more as somebody asks for. */
export function JsonView({ text }: { readonly text: string }) {
  const pieces = useMemo(() => layOut(text), [text]);
  const [count, setCount] = useState(piecesAtOnce);
  const rest = pieces.length - count;
  return (
    <>
      <pre>
        {pieces.slice(0, count).map(({ text: piece, kind }, index) => (
          <span key={index} class={kind}>
            {escapedJson(piece)}
          </span>
        ))}
      </pre>
      {rest > 0 && (
        <Button look="small" onClick={() => setCount(count + 2 * piecesAtOnce)}>
          {t('jsonMore', { n: formatNumber(rest) })}
        </Button>
      )}
    </>
  );
}
