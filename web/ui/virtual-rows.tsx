import type { ComponentChildren, HTMLAttributes } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { RowScroll } from './row-scroll.ts';

interface VirtualRowsProps {
  /** Created by the owner of the list, to scroll it. */
  readonly scroll: RowScroll;
  readonly count: number;
  readonly row: (index: number) => ComponentChildren;
  readonly onShow: (first: number, last: number) => void;
  readonly head: ComponentChildren;
  /** Attributes of the scrolling element: role, name, keys. */
  readonly attributes: HTMLAttributes<HTMLDivElement>;
}

/**
 * A list of any length that renders only visible rows. They move inside a fixed window, so the scrolled
 * height need not be that of all rows: see RowScroll. The style sheet sets the row height as `--row` in rem.
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
    // Its height follows the text size, which may change without a resize of the window.
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
