import type { LiHTMLAttributes } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { useKey } from '../ui/browser.ts';
import { Icon } from '../ui/button.tsx';
import { Marked } from '../ui/marked.tsx';
import { t } from '../ui/text.ts';
import { model } from './model.ts';
import { suggest, type Suggestion } from './suggestions.ts';
import { filterWords } from './words.ts';

/** The filter field: Enter takes the first suggestion for the typed text. */
export function Search() {
  const [{ text, chosen }, setState] = useState({ text: '', chosen: 0 });
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  useKey('/', () => input.current?.focus());
  const suggestions = suggest(text, model.known.value);
  const type = (typed: string) => setState({ text: typed, chosen: 0 });
  const choose = (index: number) => setState({ text, chosen: index });
  const take = (suggestion: Suggestion | undefined) => {
    if (suggestion === undefined) return;
    type('');
    model.filter(suggestion.name, suggestion.value, suggestion.isNot ? 'not' : 'also');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter may end the composition of a word, as in Japanese; in Safari only the key code shows that.
    if (event.isComposing || event.keyCode === 229) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) choose((chosen + step + suggestions.length) % Math.max(1, suggestions.length));
    else if (event.key === 'Enter') take(suggestions[chosen]);
    else if (event.key === 'Escape' && text !== '') type('');
    else return;
    event.preventDefault();
  };
  const isOpen = suggestions.length > 0;
  return (
    <div class="search">
      <Icon name="search" />
      <input
        ref={input}
        role="combobox"
        aria-label={t('eventsFilterLabel')}
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        {...(isOpen && { 'aria-activedescendant': `${id}-${chosen}` })}
        aria-autocomplete="list"
        autocomplete="off"
        spellcheck={false}
        placeholder={t('eventsFilter')}
        value={text}
        onInput={({ currentTarget }) => type(currentTarget.value)}
        onBlur={() => type('')}
        onKeyDown={onKeyDown}
      />
      {text === '' && <kbd aria-hidden="true">/</kbd>}
      <ul id={`${id}-list`} class="over" role="listbox" aria-label={t('eventsFilterLabel')} hidden={!isOpen}>
        {suggestions.map((suggestion, index) =>
          optionOf(suggestion, () => take(suggestion), {
            id: `${id}-${index}`,
            'aria-selected': index === chosen,
            onPointerEnter: () => choose(index),
          }),
        )}
      </ul>
    </div>
  );
}

function optionOf(suggestion: Suggestion, take: () => void, attributes: LiHTMLAttributes<HTMLLIElement>) {
  // Runs before the field loses the focus, and with it the text.
  const onPointerDown = (event: PointerEvent) => {
    event.preventDefault();
    take();
  };
  return (
    <li
      key={`${suggestion.name} ${suggestion.value}`}
      role="option"
      onPointerDown={onPointerDown}
      {...attributes}
    >
      <span class="muted">{filterWords(suggestion)}</span>
      <span class="cut">
        <Marked text={suggestion.words} />
      </span>
    </li>
  );
}
