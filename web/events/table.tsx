import { effect } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isAborted, RequestError } from '../api/request.ts';
import type { Row as EventRow } from '../api/types.ts';
import { openTab } from '../ui/browser.ts';
import { formatClock, formatDay, formatExact, formatZones, zoneIfTwice } from '../ui/format.ts';
import { Marked, markedText, Middle } from '../ui/marked.tsx';
import { personWords } from '../ui/people.ts';
import { Skeleton } from '../ui/resource.tsx';
import { RowScroll } from '../ui/row-scroll.ts';
import { t, type TextKey } from '../ui/text.ts';
import { VirtualRows } from '../ui/virtual-rows.tsx';
import { type EventList, placeText } from './event-list.ts';
import { limits } from './limits.ts';
import { model } from './model.ts';
import { valueWords } from './words.ts';

const rowsAbove = 5;

type Cell = (event: EventRow) => ComponentChildren;
type Tooltip = (event: EventRow) => string | undefined;

/** `area` is the column's place in the grid, and its class. */
const columns: readonly (readonly [area: string, title: TextKey, cell: Cell, tooltip?: Tooltip])[] = [
  ['when', 'time', timeCell, ({ time }) => formatExact(time)],
  ['activity', 'activity', activityCell],
  ['actor', 'actor', actorCell, ({ actor_email: email }) => email && markedText(email)],
  ['target', 'eventsTarget', targetCell],
  [
    'message',
    'eventsMessage',
    ({ message }) => textCell(message, 'muted'),
    ({ message }) => markedText(message),
  ],
  ['address', 'ip', ({ ip }) => textCell(ip, 'lines mono muted')],
  ['status', 'status', statusCell],
];

function targetCell({ target_name: target, file_name: file }: EventRow) {
  const text = target ?? file;
  return text && <Middle text={text} />;
}

function textCell(text: string | undefined, look: string) {
  return (
    text && (
      <span class={look}>
        <Marked text={text} />
      </span>
    )
  );
}

function actorCell({ actor_name: name, actor_email: email }: EventRow) {
  const words = personWords([name, email], model.shared.value);
  return textCell(words ?? '–', words !== name && name !== undefined ? 'lines' : '');
}

/** A link, so that browsers can open or copy it; the keyboard moves by rows. */
function timeCell(event: EventRow) {
  const { time } = event;
  const zone = zoneIfTwice(time);
  return (
    <a href={model.hrefOf(placeText(event))} tabIndex={-1}>
      <span>{formatDay(time)}</span>
      {formatClock(time)}
      {zone !== '' && <b class="zone">{zone}</b>}
    </a>
  );
}

function activityCell({ activity_name: name, severity }: EventRow) {
  return textCell(name, severity === 'High' ? 'attention' : '');
}

function statusCell({ status }: EventRow) {
  return <span class={`state${status === 'Failure' ? ' failed' : ''}`}>{valueWords('status', status)}</span>;
}

/** All events of a list, newest first; only visible rows are rendered. */
export function EventTable({ list, open }: { readonly list: EventList; readonly open: string | undefined }) {
  const scroll = useRef(new RowScroll()).current;
  const [cursor, setCursor] = useState(0);
  const onShow = useCallback((first: number, last: number) => list.show(first, last), [list]);
  useFollowing(list, open, scroll, setCursor);
  const rowHeight = scroll.rowHeight.value;
  // The panel makes rows higher: the open row stays visible.
  useLayoutEffect(() => {
    if (open !== undefined) scroll.reveal(cursor);
  }, [rowHeight]);
  usePlace(list, open, scroll);
  const openAt = (index: number) => {
    setCursor(index);
    const event = list.at(index);
    if (event !== undefined) model.open(placeText(event));
  };
  const onClick = useClick(open !== undefined, setCursor, openAt);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = stepOf(event.key, cursor, scroll.visible, list.total);
    if (step !== undefined) {
      setCursor(step);
      scroll.reveal(step);
      if (open !== undefined) openAt(step);
    } else if (event.key === 'Enter') openAt(cursor);
    else if (event.key === 'Escape') model.open(undefined);
    else if (event.key === 'Tab' && !event.shiftKey && open !== undefined) focusDetail();
    else return;
    event.preventDefault();
  };
  const attributes = {
    role: 'grid' as const,
    tabIndex: 0,
    'aria-label': t('eventsTable'),
    'aria-rowcount': list.total + 1,
    'aria-activedescendant': `event-${cursor}`,
    onKeyDown,
  };
  const row = (index: number) => {
    const event = list.at(index);
    const isOpen = event !== undefined && placeText(event) === open;
    const state = { index, event, newer: list.at(index - 1), isCursor: index === cursor, isOpen };
    return <EventRow key={index} {...state} onClick={onClick} />;
  };
  const head = <Head list={list} scroll={scroll} />;
  return <VirtualRows count={list.total} {...{ scroll, row, onShow, head, attributes }} />;
}

/** A click opens a row here or in a new tab; a double click selects a word. */
function useClick(isOpen: boolean, setCursor: (cursor: number) => void, openAt: (index: number) => void) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (click: MouseEvent, index: number, event: EventRow) => {
    const isOnLink = click.target instanceof Element && click.target.closest('a') !== null;
    if (click.button > 1 || click.shiftKey) return;
    if (click.button === 1 || click.ctrlKey || click.metaKey) {
      if (!isOnLink) openTab(model.hrefOf(placeText(event)));
      return;
    }
    click.preventDefault();
    clearTimeout(timer.current);
    // The keyboard continues from the table, not from a link that may scroll away.
    document.querySelector<HTMLElement>('[role=grid]')?.focus({ preventScroll: true });
    if (click.detail > 1 || getSelection()?.isCollapsed === false) return;
    setCursor(index);
    // The panel makes rows narrower: the text below the pointer must stay for a second click.
    const canBeFirst = !isOpen && click instanceof PointerEvent && click.pointerType === 'mouse';
    if (canBeFirst) timer.current = setTimeout(() => openAt(index), limits.doubleClickMs);
    else openAt(index);
  };
}

/** Keeps rows where they are on the screen, and the open event visible. */
function useFollowing(
  list: EventList,
  open: string | undefined,
  scroll: RowScroll,
  setCursor: (change: (cursor: number) => number) => void,
): void {
  useEffect(() => {
    setCursor(() => list.start);
    scroll.scrollTo(open === undefined ? list.start : Math.max(0, list.start - rowsAbove));
    list.onMoved = (rows) => {
      setCursor((cursor) => cursor + rows);
      scroll.moveBy(rows);
    };
  }, [list]);
  useEffect(() => {
    if (open === undefined) return undefined;
    const asking = new AbortController();
    void list
      .indexOf(open, asking.signal)
      .then((index) => {
        setCursor(() => index);
        scroll.reveal(index);
      })
      .catch((error: unknown) => {
        // The panel shows the failure.
        if (!isAborted(error) && !(error instanceof RequestError)) throw error;
      });
    return () => asking.abort();
  }, [list, open]);
}

function usePlace(list: EventList, open: string | undefined, scroll: RowScroll): void {
  const { isAtTop } = model.live;
  useEffect(() => keepPlace(list, scroll), [list]);
  useEffect(() => {
    const stop = effect(() => {
      isAtTop.value = scroll.top.value < 1 && open === undefined;
    });
    return () => {
      stop();
      isAtTop.value = true;
    };
  }, [list, open]);
}

function keepPlace(list: EventList, scroll: RowScroll): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = effect(() => {
    const first = Math.floor(scroll.top.value);
    const top = list.at(first);
    clearTimeout(timer);
    if (top === undefined) return;
    timer = setTimeout(
      () => history.replaceState(first === 0 ? null : placeText(top), ''),
      limits.settleMsMax,
    );
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}

function focusDetail(): void {
  document.querySelector<HTMLElement>('.detail :checked')?.focus();
}

function stepOf(key: string, from: number, visible: number, total: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: from + 1,
    ArrowUp: from - 1,
    PageDown: from + visible - 1,
    PageUp: from - visible + 1,
    Home: 0,
    End: total - 1,
  };
  const step = steps[key];
  return step === undefined ? undefined : Math.max(0, Math.min(step, total - 1));
}

function zonesOf(list: EventList, scroll: RowScroll): string {
  const first = Math.floor(scroll.top.value);
  const shown = Array.from({ length: scroll.visible }, (_, index) => list.at(first + index));
  return formatZones(shown.filter((event) => event !== undefined).map(({ time }) => time));
}

function Head({ list, scroll }: { readonly list: EventList; readonly scroll: RowScroll }) {
  return (
    <div role="row" class="row head" aria-rowindex={1}>
      {columns.map(([area, title]) => (
        <span key={area} role="columnheader" class={area} style={{ gridArea: area }}>
          {t(title)}
          {title === 'time' && ` (${zonesOf(list, scroll)})`}
        </span>
      ))}
    </div>
  );
}

interface RowProps {
  readonly index: number;
  readonly event: EventRow | undefined;
  readonly newer: EventRow | undefined;
  readonly isCursor: boolean;
  readonly isOpen: boolean;
  readonly onClick: (click: MouseEvent, index: number, event: EventRow) => void;
}

function EventRow({ index, event, newer, isCursor, isOpen, onClick }: RowProps) {
  const press = (click: MouseEvent) => event && onClick(click, index, event);
  const beginsDay = event && newer && formatDay(newer.time) !== formatDay(event.time);
  return (
    <div
      role="row"
      id={`event-${index}`}
      aria-rowindex={index + 2}
      class={`row${isCursor ? ' cursor' : ''}${beginsDay ? ' first-of-day' : ''}`}
      {...(event === undefined ? { 'aria-busy': true } : { 'aria-selected': isOpen })}
      onClick={press}
      onAuxClick={press}
      // Otherwise the browser starts scrolling with the pointer.
      onMouseDown={(click) => click.button === 1 && click.preventDefault()}
    >
      {columns.map(([area, , cell, tooltip], column) => (
        <span
          key={area}
          role="gridcell"
          class={area}
          style={{ gridArea: area }}
          title={event && tooltip?.(event)}
        >
          {event === undefined ? <Skeleton at={index * 7 + column * 13} /> : cell(event)}
        </span>
      ))}
    </div>
  );
}
