import type { Row } from '../api/types.ts';
import { formatMicros, formatMoment, formatSpan, formatZones } from '../ui/format.ts';
import { Marked } from '../ui/marked.tsx';
import { t } from '../ui/text.ts';
import type { EventList } from './event-list.ts';
import { model } from './model.ts';
import { exactRange } from './query.ts';
import { querySentence, totalWords, valueWords } from './words.ts';

const nameOf = ({ actor_name: name, actor_email: email }: Row) => [name, email].filter(Boolean).join(' · ');
const timeOf = ({ time }: Row) => formatMoment(time, formatMicros);

/** Columns on paper: the whole row, nothing cut. */
const columns = [
  ['time', timeOf],
  ['activity', ({ activity_name: activity }: Row) => activity],
  ['actor', nameOf],
  ['eventsTarget', ({ target_name: target, file_name: file }: Row) => target ?? file],
  ['eventsMessage', ({ message }: Row) => message],
  ['ip', ({ ip }: Row) => ip],
  ['severity', ({ severity }: Row) => valueWords('severity', severity)],
  ['status', ({ status }: Row) => valueWords('status', status)],
] as const;

interface PrintedProps {
  readonly list: EventList;
}

export function PrintedHead({ list }: PrintedProps) {
  const { rows, first, total } = list;
  return (
    <div class="printed">
      <p>
        <Marked text={querySentence(list)} />
        {exactWords()}
      </p>
      <p>
        <strong>{totalWords(total, list.searchedBackTo !== undefined)}</strong>
        {rows.length > 0 && (
          <>
            {' · '}
            {t('eventsPrinted', { first: first + 1, last: first + rows.length, total })}
          </>
        )}
      </p>
    </div>
  );
}

export function PrintedRows({ list: { rows } }: PrintedProps) {
  const zones = formatZones(rows.map(({ time }) => time));
  return (
    <div class="printed">
      <table class="list fine">
        <thead>
          <tr>
            {columns.map(([title]) => (
              <th key={title} scope="col">
                {t(title)} {title === 'time' && `(${zones})`}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.seq}>
              {columns.map(([title, textOf]) => (
                <td key={title}>
                  <Marked text={textOf(row) ?? ''} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The exact range, such as of "today", when the list was loaded. */
function exactWords(): string {
  const { from, to } = exactRange(model.query.value.range, model.askedAtMs.value);
  const isNamed = typeof model.query.value.range === 'string';
  return isNamed && from !== undefined && to !== undefined ? ` · ${formatSpan(from, to)}` : '';
}
