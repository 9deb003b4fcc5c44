import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Resource } from '../api/resource.ts';
import { Button } from './button.tsx';
import { FailureOf } from './failure.tsx';
import { formatNumber } from './number.ts';
import { isNarrow } from './screen.ts';
import { Skeleton } from './skeleton.tsx';
import { t } from './text.ts';

/** A column; the first one names the row. */
export interface Column<T> {
  readonly title: string;
  /** Only where there is room; a phone does without. */
  readonly isSecondary?: boolean;
  /** Of buttons that speak for themselves: the title is for screen readers alone. */
  readonly isForButtons?: boolean;
  readonly cell: (item: T) => ComponentChildren;
}

interface ListTableProps<T extends { readonly id: string }> {
  readonly label: string;
  /** Where the items come from: what is the matter with it stands above the table. */
  readonly resource: Resource<unknown>;
  /** Those to show; undefined before the first answer. */
  readonly items: readonly T[] | undefined;
  readonly columns: readonly Column<T>[];
  /** In place of no items. */
  readonly empty: string;
}

const rowsAtOnce = 100;
const rowsWaiting = 4;

/** A table of things with a name, a hundred at first and more where asked for. */
export function ListTable<T extends { readonly id: string }>(props: ListTableProps<T>) {
  const { label, resource, items, columns, empty } = props;
  const [shown, setShown] = useState(rowsAtOnce);
  const visible = columns.filter(({ isSecondary = false }) => !(isSecondary && isNarrow.value));
  const rest = (items?.length ?? 0) - shown;
  return (
    <>
      <FailureOf resource={resource} />
      {items?.length === 0 ? (
        <p class="empty">{empty}</p>
      ) : (
        <table class="list" aria-label={label} aria-busy={resource.isLoading.value}>
          <thead>
            <tr>
              {visible.map(({ title, isForButtons = false }) => (
                <th key={title} scope="col">
                  {isForButtons ? <span class="visually-hidden">{title}</span> : title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {items === undefined && resource.error.value === undefined && (
              <Waiting columns={visible.length} />
            )}
            {items?.slice(0, shown).map((item) => (
              <tr key={item.id}>
                {visible.map(({ title, cell }, index) => {
                  const Cell = index === 0 ? 'th' : 'td';
                  return (
                    <Cell key={title} {...(index === 0 && { scope: 'row' })}>
                      {cell(item)}
                    </Cell>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {rest > 0 && (
        <p class="list-more">
          <Button onClick={() => setShown(shown + rowsAtOnce)}>
            {t('listMore', { n: formatNumber(Math.min(rest, rowsAtOnce)), rest: formatNumber(rest) })}
          </Button>
        </p>
      )}
    </>
  );
}

/** Rows as they will be. */
function Waiting({ columns }: { readonly columns: number }) {
  return (
    <>
      {Array.from({ length: rowsWaiting }, (_, row) => (
        <tr key={row} class="waiting">
          {Array.from({ length: columns }, (_, column) => (
            <td key={column}>
              <Skeleton at={row * 31 + column * 17} />
            </td>
          ))}
        </tr>
      ))}
    </>
  );
}
