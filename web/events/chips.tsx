import type { ComponentChildren } from 'preact';
import { Icon } from '../ui/icon.tsx';
import { Marked } from '../ui/marked.tsx';
import { markedText } from '../ui/marked-text.ts';
import { t } from '../ui/text.ts';
import { type Filter, parameterOf } from './filters.ts';
import type { EventsModel } from './model.ts';
import { filterWords, valueWords } from './words.ts';

interface ChipsProps {
  readonly model: EventsModel;
  /** Only to be read. */
  readonly isFixed?: boolean;
  /** Chips before those of the filters, and what stands behind them. */
  readonly children?: ComponentChildren;
  readonly end?: ComponentChildren;
}

/** The filters there are, as a sentence that can be read; each value can be taken away. */
export function Chips({ model, isFixed = false, children, end }: ChipsProps) {
  const { filters } = model.query.value;
  const ignored = model.list.data.value?.ignored ?? [];
  if (filters.length === 0 && children === undefined) return null;
  return (
    <ul class="chips line" aria-label={t('eventsFilterLabel')}>
      {children}
      {filters.map((filter) => {
        const parameter = parameterOf(filter);
        return (
          <li key={parameter} class={`chip${filter.isNot ? ' not' : ''}`}>
            <span class="muted">{filterWords(filter)}</span>{' '}
            {filter.values.map((value, index) => (
              <Value key={value} {...{ model, filter, value, index, isFixed }} />
            ))}
            {ignored.includes(parameter) && <span class="fault">{t('eventsChipIgnored')}</span>}
          </li>
        );
      })}
      {end !== undefined && <li>{end}</li>}
    </ul>
  );
}

interface ValueProps {
  readonly model: EventsModel;
  readonly filter: Filter;
  readonly value: string;
  readonly index: number;
  readonly isFixed: boolean;
}

function Value({ model, filter, value, index, isFixed }: ValueProps) {
  const words = valueWords(filter.name, value, model.known.value.activities);
  return (
    <>
      {index > 0 && <span class="muted"> {t(filter.name === 'q' ? 'eventsAnd' : 'eventsOr')} </span>}
      <span class="cut" title={markedText(words)}>
        <Marked text={words} />
      </span>
      {!isFixed && (
        <button
          type="button"
          aria-label={t('eventsChipRemove', { filter: `${filterWords(filter)} ${markedText(words)}` })}
          onClick={() => model.unfilter(filter.name, value, filter.isNot)}
        >
          <Icon name="close" />
        </button>
      )}
    </>
  );
}
