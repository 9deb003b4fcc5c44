import { Marked } from './marked.tsx';
import { formatNumber } from './text.ts';

interface RankContentProps {
  readonly words: string;
  readonly count: number;
  readonly sum?: string | undefined;
}

/** An entry of a list of frequent values, in an element of class `rank` whose `--share` of the highest draws a bar. */
export function RankContent({ words, count, sum }: RankContentProps) {
  return (
    <>
      <span class="lines">
        <Marked text={words} />
      </span>
      <span class="muted">
        {formatNumber(count)}
        {sum !== undefined && ` · ${sum}`}
      </span>
    </>
  );
}
