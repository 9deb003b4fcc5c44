import { Fragment } from 'preact';
import { Button, Icon } from '../ui/button.tsx';
import { Marked, markedText } from '../ui/marked.tsx';
import { t } from '../ui/text.ts';
import { type Filter, parameterOf } from './filters.ts';
import { model } from './model.ts';
import { filterWords, valueWords } from './words.ts';

/** The active filters as a sentence; each value can be removed. */
export function Chips() {
  const { filters, unread = [] } = model.query.value;
  const ignored = model.list.data.value?.ignored ?? [];
  if (filters.length + unread.length === 0) return null;
  return (
    <ul class="chips line" aria-label={t('eventsFilterLabel')}>
      {filters.map((filter) => {
        const parameter = parameterOf(filter);
        return (
          <li key={parameter} class={`chip${filter.isNot ? ' not' : ''}`}>
            <span class="muted">{filterWords(filter)}</span>{' '}
            {filter.values.map((value, index) => chipValue(filter, value, index))}
            {ignored.includes(parameter) && <span class="fault">{t('eventsChipIgnored')}</span>}
          </li>
        );
      })}
      {unread.map((text) => (
        <li key={text} class="chip">
          <Marked text={text} /> <span class="fault">{t('eventsChipIgnored')}</span>
        </li>
      ))}
      {filters.length > 1 && (
        <li>
          <Button look="quiet small" onClick={() => model.change({ filters: [] })}>
            {t('eventsClear')}
          </Button>
        </li>
      )}
    </ul>
  );
}

function chipValue(filter: Filter, value: string, index: number) {
  const { name, isNot } = filter;
  const words = valueWords(name, value);
  return (
    <Fragment key={value}>
      {index > 0 && <span class="muted"> {t(name === 'q' && !isNot ? 'eventsAnd' : 'eventsOr')} </span>}
      <span class="cut" title={markedText(words)}>
        <Marked text={words} />
      </span>
      <button
        type="button"
        aria-label={t('eventsChipRemove', { filter: `${filterWords(filter)} ${markedText(words)}` })}
        onClick={() => model.unfilter(name, value, isNot)}
      >
        <Icon name="close" />
      </button>
    </Fragment>
  );
}
