import type { ComponentChildren, HTMLAttributes } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { RowScroll } from './row-scroll.ts';

interface VirtualRowsProps {
  /** Made by who shows the list, to scroll it. */
  readonly scroll: RowScroll;
  readonly count: number;
  readonly row: (index: number) => ComponentChildren;
  /** Rows from the first to the last one in sight. */
  readonly onShow: (first: number, last: number) => void;
  /** Stays above the rows. */
  readonly head: ComponentChildren;
  /** What the element that scrolls has: its role, its name, what keys do. */
  readonly attributes: HTMLAttributes<HTMLDivElement>;
}

/**
 * A list of any length, of which only the rows in sight are there. Rows stand in a window that stays in place, and move
 * by themselves, so the height of what scrolls need not be that of all rows: see RowScroll. The style sheet says how high
 * a row is, by `--row` in rem.
 */
export function VirtualRows({ scroll, count, row, onShow, head, attributes }: VirtualRowsProps) {
  const outer = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = outer.current;
    const top = element?.firstElementChild;
    if (!element || !top) return undefined;
    const measure = () => {
      const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
      const rows = Number.parseFloat(getComputedStyle(element).getPropertyValue('--row'));
      scroll.rowHeight.value = rows * rem;
      scroll.height.value = element.clientHeight - top.getBoundingClientRect().height;
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    // Its height follows the size of texts, which may change without any change of the room for all.
    observer.observe(top);
    scroll.attach(element);
    measure();
    return () => {
      observer.disconnect();
      scroll.attach(undefined);
    };
  }, [scroll]);
  const rowHeight = scroll.rowHeight.value;
  useLayoutEffect(() => {
    scroll.count.value = count;
    scroll.clamp();
  }, [scroll, count]);
  useLayoutEffect(() => scroll.scrollTo(scroll.top.value), [scroll, rowHeight]);
  const top = scroll.top.value;
  const height = scroll.height.value;
  const first = Math.floor(top);
  const last = Math.min(count - 1, Math.ceil(top + height / rowHeight));
  useEffect(() => {
    if (height > 0 && count > 0) onShow(first, last);
  }, [first, last, height, count, onShow]);
  const rows = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => row(first + index));
  return (
    <div ref={outer} class="virtual-rows" {...attributes} onScroll={() => scroll.onScroll()}>
      {head}
      <div role="presentation" style={{ height: `${scroll.length.value}px` }}>
        <div class="virtual-window" role="presentation" style={{ height: `${height}px` }}>
          <div role="rowgroup" style={{ transform: `translateY(${(first - top) * rowHeight}px)` }}>
            {rows}
          </div>
        </div>
      </div>
    </div>
  );
}
