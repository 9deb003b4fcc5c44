import { type ComponentChildren, Fragment } from 'preact';
import { Icon } from '../ui/button.tsx';
import { Marked, markedText } from '../ui/marked.tsx';
import { t } from '../ui/text.ts';
import { type Filter, parameterOf } from './filters.ts';
import { model } from './model.ts';
import { filterWords, valueWords } from './words.ts';

interface ChipsProps {
  /** Only to be read. */
  readonly isFixed?: boolean;
  /** Chips before those of the filters, and what stands behind them. */
  readonly children?: ComponentChildren;
  readonly end?: ComponentChildren;
}

/** The filters there are, as a sentence that can be read; each value can be taken away. */
export function Chips({ isFixed = false, children, end }: ChipsProps) {
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
            {filter.values.map((value, index) => chipValue(filter, value, index, isFixed))}
            {ignored.includes(parameter) && <span class="fault">{t('eventsChipIgnored')}</span>}
          </li>
        );
      })}
      {end !== undefined && <li>{end}</li>}
    </ul>
  );
}

function chipValue(filter: Filter, value: string, index: number, isFixed: boolean) {
  const { name, isNot } = filter;
  const words = valueWords(name, value);
  return (
    <Fragment key={value}>
      {index > 0 && <span class="muted"> {t(name === 'q' ? 'eventsAnd' : 'eventsOr')} </span>}
      <span class="cut" title={markedText(words)}>
        <Marked text={words} />
      </span>
      {!isFixed && (
        <button
          type="button"
          aria-label={t('eventsChipRemove', { filter: `${filterWords(filter)} ${markedText(words)}` })}
          onClick={() => model.unfilter(name, value, isNot)}
        >
          <Icon name="close" />
        </button>
      )}
    </Fragment>
  );
}
