import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { fromRfc3339 } from '../api/instant.ts';
import type { Resource } from '../api/resource.ts';
import { Button } from './button.tsx';
import { formatAgo, formatExact, formatMoment } from './format.ts';
import { type Action, ActionMenu } from './menu.tsx';
import { Page } from './page.tsx';
import { FailureOf, Skeleton } from './resource.tsx';
import { t } from './text.ts';

/** A column; the first one names the row. */
export interface Column<T> {
  readonly title: ComponentChildren;
  /** Classes of its cells, such as `roomy-only`, which phones hide. */
  readonly look?: string;
  readonly cell: (item: T) => ComponentChildren;
}

interface TableProps<T> {
  readonly title: string;
  readonly resource: Resource<unknown>;
  /** Items to show; undefined before the first answer. */
  readonly items: readonly T[] | undefined;
  readonly columns: readonly Column<T>[];
}

interface ListPageProps<T extends { readonly id: string }> extends TableProps<T> {
  readonly lead: string;
  readonly make: string;
  readonly onMake: () => void;
  readonly bar?: ComponentChildren;
  readonly nameOf: (item: T) => string;
  readonly actions: (item: T) => readonly Action[];
  readonly empty: string;
  readonly dialog: ComponentChildren;
}

const rowsAtOnce = 100;
const rowsWaiting = 6;

/** A page with a table of named things: a hundred first, all on request. */
export function ListPage<T extends { readonly id: string }>(props: ListPageProps<T>) {
  const { title, lead, make, onMake, bar, resource, items, columns, nameOf, actions, empty, dialog } = props;
  const [shown, setShown] = useState(rowsAtOnce);
  const rest = (items?.length ?? 0) - shown;
  const button = (
    <Button icon="plus" look="primary" onClick={onMake}>
      {make}
    </Button>
  );
  const menus: Column<T> = {
    title: <span class="visually-hidden">{t('actions')}</span>,
    look: 'menus',
    cell: (item) => <ActionMenu name={nameOf(item)} actions={actions(item)} />,
  };
  const table = { title, resource, items: items?.slice(0, shown), columns: [...columns, menus] };
  return (
    <Page title={title} lead={lead} end={button}>
      {bar && <div class="list-bar line">{bar}</div>}
      <FailureOf resource={resource} />
      {items?.length === 0 ? <p class="empty">{empty}</p> : <Table {...table} />}
      {rest > 0 && (
        <p class="empty">
          <Button onClick={() => setShown(Number.POSITIVE_INFINITY)}>{t('listMore', { n: rest })}</Button>
        </p>
      )}
      {dialog}
    </Page>
  );
}

/** A row for each item; placeholder rows before the first answer. */
export function Table<T>({ title, resource, items, columns }: TableProps<T>) {
  const isWaiting = items === undefined && resource.error.value === undefined;
  const rows = items ?? Array.from({ length: isWaiting ? rowsWaiting : 0 }, () => undefined);
  return (
    <table
      class="list"
      aria-label={title}
      aria-busy={resource.isLoading.value}
      data-stale={resource.isStale.value}
    >
      <thead>
        <tr>
          {columns.map((column, index) => (
            <th key={index} scope="col" class={column.look}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((item, row) => (
          <tr key={row}>
            {columns.map(({ look, cell }, index) => {
              // A placeholder row has no name yet.
              const isName = index === 0 && item !== undefined;
              const Cell = isName ? 'th' : 'td';
              return (
                <Cell key={index} scope={isName ? 'row' : undefined} class={look}>
                  {item === undefined ? <Skeleton at={row * 31 + index * 17} /> : (cell(item) ?? '–')}
                </Cell>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The open dialog of a page, if any; its change shows after `reload`. */
export function useDialog(reload: () => void) {
  const [dialog, ask] = useState<ComponentChildren>();
  const onDone = (next?: ComponentChildren) => {
    ask(next);
    reload();
  };
  return { dialog, ask, onDone, onClose: () => ask(undefined) };
}

interface MomentProps {
  /** RFC 3339. */
  readonly at: string;
  readonly clock?: (micros: number) => string;
}

/** A time to the minute, or by `clock`; the tooltip is exact. */
export function Moment({ at, clock }: MomentProps) {
  const micros = fromRfc3339(at) ?? 0;
  return (
    <time dateTime={at} title={`${formatExact(micros)} · ${formatAgo(micros)}`}>
      {formatMoment(micros, clock)}
    </time>
  );
}
