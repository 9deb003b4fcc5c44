import { copyText } from '../ui/button.tsx';
import { Marked } from '../ui/marked.tsx';
import { ActionMenu } from '../ui/menu.tsx';
import { t } from '../ui/text.ts';
import { type FilterName, hasValue, withValue } from './filters.ts';
import { limits } from './limits.ts';
import { model } from './model.ts';

interface ValueProps {
  /** The filter for such values; undefined if the server can only search their words. */
  readonly name: FilterName | undefined;
  readonly value: string;
  readonly words?: string;
}

/** A value as a button: show its events, exclude them, or copy it. */
export function Value({ name, value, words = value }: ValueProps) {
  const { filters } = model.query.value;
  const hasOthers =
    name !== undefined &&
    !hasValue(filters, name, value) &&
    filters.some((one) => one.name === name && !one.isNot);
  const way = (
    text: 'eventsOnly' | 'eventsAlso' | 'eventsNot' | 'eventsWords',
    how: 'only' | 'also' | 'not',
  ) =>
    withValue(filters, name ?? 'q', value, how) === undefined
      ? []
      : [{ words: t(text), onChoose: () => model.filter(name ?? 'q', value, how) }];
  const shown = words.length > limits.valueCharacters ? `${words.slice(0, limits.valueCharacters)}…` : words;
  const actions = [
    ...way(name === undefined ? 'eventsWords' : 'eventsOnly', 'only'),
    ...(hasOthers ? way('eventsAlso', 'also') : []),
    ...(name === undefined ? [] : way('eventsNot', 'not')),
    { words: t('copy'), onChoose: () => void copyText(words) },
  ];
  return <ActionMenu name={shown} class="value" button={<Marked text={shown} />} actions={actions} />;
}
