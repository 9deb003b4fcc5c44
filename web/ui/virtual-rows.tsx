import type { ComponentChildren, HTMLAttributes } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { RowScroll } from './row-scroll.ts';

const headHeight = 28;

interface VirtualRowsProps {
  /** Made by who shows the list, to scroll it. */
  readonly scroll: RowScroll;
  readonly count: number;
  readonly rowHeight: number;
  readonly row: (index: number) => ComponentChildren;
  /** Rows from the first to the last one in sight. */
  readonly onShow: (first: number, last: number) => void;
  /** Stays above the rows. */
  readonly head: ComponentChildren;
  /** Of the element that scrolls: its role, its name, what keys do. */
  readonly attributes: HTMLAttributes<HTMLDivElement>;
}

/**
 * A list of any length, of which only the rows in sight are there. Rows stand in a window that stays in place, and move
 * by themselves, so the height of what scrolls need not be that of all rows: see RowScroll.
 */
export function VirtualRows({ scroll, count, rowHeight, row, onShow, head, attributes }: VirtualRowsProps) {
  const outer = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = outer.current;
    if (element === null) return undefined;
    const measure = () => {
      scroll.height.value = element.clientHeight - headHeight;
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    scroll.attach(element);
    measure();
    return () => {
      observer.disconnect();
      scroll.attach(undefined);
    };
  }, [scroll]);
  useLayoutEffect(() => {
    scroll.count.value = count;
    scroll.rowHeight.value = rowHeight;
    scroll.clamp();
  }, [scroll, count, rowHeight]);
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
