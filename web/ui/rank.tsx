import { Marked } from './marked.tsx';
import { formatNumber } from './number.ts';

interface RankContentProps {
  readonly words: string;
  readonly count: number;
  /** Of all in the list. */
  readonly highest: number;
}

/** One of a list of what is most frequent, in a link or button of class `rank`: the bar is its share of the highest. */
export function RankContent({ words, count, highest }: RankContentProps) {
  return (
    <>
      <span class="cut">
        <Marked text={words} />
      </span>
      <span class="muted">{formatNumber(count)}</span>
      <i aria-hidden="true" style={{ width: `calc((100% - 1rem) * ${count / highest})` }} />
    </>
  );
}
