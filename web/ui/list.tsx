import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { fromRfc3339 } from '../api/instant.ts';
import type { Resource } from '../api/resource.ts';
import { isNarrow } from './browser.ts';
import { Button, Icon } from './button.tsx';
import { formatExact, formatMoment, formatNumber } from './format.ts';
import { Marked } from './marked.tsx';
import { type Action, ActionMenu } from './menu.tsx';
import { Page } from './page.tsx';
import { FailureOf, Skeleton } from './resource.tsx';
import { t } from './text.ts';

/** A column; the first one names the row. */
export interface Column<T> {
  readonly title: string;
  /** Only where there is room; a phone does without. */
  readonly isSecondary?: boolean;
  readonly cell: (item: T) => ComponentChildren;
}

interface ListPageProps<T extends { readonly id: string }> {
  readonly title: string;
  readonly lead: string;
  /** What is on the button that makes one more. */
  readonly make: string;
  readonly onMake: () => void;
  /** Above the table: which of them are shown. */
  readonly bar: ComponentChildren;
  /** Where the items come from: what is the matter with it stands above the table. */
  readonly resource: Resource<unknown>;
  /** Those to show; undefined before the first answer. */
  readonly items: readonly T[] | undefined;
  readonly columns: readonly Column<T>[];
  readonly nameOf: (item: T) => string;
  readonly actions: (item: T) => readonly Action[];
  /** In place of no items. */
  readonly empty: string;
  readonly dialog: ComponentChildren;
}

const rowsAtOnce = 100;
const rowsWaiting = 4;

/** A page with a table of things that have a name, a hundred at first and more where asked for. */
export function ListPage<T extends { readonly id: string }>(props: ListPageProps<T>) {
  const { title, lead, make, onMake, bar, resource, items, empty, dialog } = props;
  const [shown, setShown] = useState(rowsAtOnce);
  const rest = (items?.length ?? 0) - shown;
  const button = (
    <Button look="primary" onClick={onMake}>
      <Icon name="plus" />
      {make}
    </Button>
  );
  return (
    <Page title={title} lead={lead} end={button}>
      <div class="list-bar line">{bar}</div>
      <FailureOf resource={resource} />
      {items?.length === 0 ? <p class="empty">{empty}</p> : <Table {...props} shown={shown} />}
      {rest > 0 && (
        <p class="empty">
          <Button onClick={() => setShown(shown + rowsAtOnce)}>
            {t('listMore', { n: formatNumber(Math.min(rest, rowsAtOnce)), rest: formatNumber(rest) })}
          </Button>
        </p>
      )}
      {dialog}
    </Page>
  );
}

type TableProps<T extends { readonly id: string }> = ListPageProps<T> & { readonly shown: number };

function Table<T extends { readonly id: string }>(props: TableProps<T>) {
  const { title, resource, items, columns, nameOf, actions, shown } = props;
  const visible = columns.filter(({ isSecondary = false }) => !(isSecondary && isNarrow.value));
  const isWaiting = items === undefined && resource.error.value === undefined;
  const rows = items?.slice(0, shown) ?? Array.from({ length: isWaiting ? rowsWaiting : 0 }, () => undefined);
  return (
    <table class="list" aria-label={title} aria-busy={resource.isLoading.value}>
      <thead>
        <tr>
          {visible.map((column) => (
            <th key={column.title} scope="col">
              {column.title}
            </th>
          ))}
          <th scope="col">
            <span class="visually-hidden">{t('actions')}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((item, row) => (
          <tr key={item?.id ?? row}>
            {visible.map(({ title, cell }, index) => {
              const Cell = index === 0 ? 'th' : 'td';
              return (
                <Cell key={title} scope={index === 0 ? 'row' : undefined}>
                  {item === undefined ? <Skeleton at={row * 31 + index * 17} /> : cell(item)}
                </Cell>
              );
            })}
            <td>{item && <ActionMenu name={nameOf(item)} actions={actions(item)} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The one dialog that a page has open, if any; what is done in it shows in the list, which `reload` asks for. */
export function useDialog(reload: () => void) {
  const [dialog, ask] = useState<ComponentChildren>();
  const onDone = (next?: ComponentChildren) => {
    ask(next);
    reload();
  };
  return { dialog, ask, onDone, onClose: () => ask(undefined) };
}

/** An RFC 3339 time to the minute, exact in the tooltip. */
export function Moment({ at }: { readonly at: string }) {
  const micros = fromRfc3339(at) ?? 0;
  return (
    <time dateTime={at} title={formatExact(micros)}>
      {formatMoment(micros)}
    </time>
  );
}

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
