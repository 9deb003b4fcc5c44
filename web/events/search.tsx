import { useId, useRef, useState } from 'preact/hooks';
import { useKey } from '../ui/browser.ts';
import { Icon } from '../ui/button.tsx';
import { Marked } from '../ui/marked.tsx';
import { t } from '../ui/text.ts';
import { model } from './model.ts';
import { suggest, type Suggestion } from './suggestions.ts';
import { filterWords } from './words.ts';

/** The field that makes filters: what is typed becomes one of the suggestions, the first with Enter. */
export function Search() {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  useKey('/', () => input.current?.focus());
  const suggestions = suggest(text, model.known.value);
  const take = (suggestion: Suggestion | undefined) => {
    if (suggestion === undefined) return;
    setText('');
    setChosen(0);
    model.filter(suggestion.name, suggestion.value, suggestion.isNot ? 'not' : 'also');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setChosen((chosen + step + suggestions.length) % Math.max(1, suggestions.length));
    else if (event.key === 'Enter') take(suggestions[chosen]);
    else if (event.key === 'Escape' && text !== '') setText('');
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
        {...(isOpen ? { 'aria-activedescendant': `${id}-${chosen}` } : {})}
        aria-autocomplete="list"
        autocomplete="off"
        spellcheck={false}
        placeholder={t('eventsFilter')}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onBlur={() => setText('')}
        onKeyDown={onKeyDown}
      />
      {text === '' && <kbd aria-hidden="true">/</kbd>}
      <Options id={id} suggestions={suggestions} chosen={chosen} onPoint={setChosen} onTake={take} />
    </div>
  );
}

interface OptionsProps {
  readonly id: string;
  readonly suggestions: readonly Suggestion[];
  readonly chosen: number;
  readonly onPoint: (index: number) => void;
  readonly onTake: (suggestion: Suggestion) => void;
}

function Options({ id, suggestions, chosen, onPoint, onTake }: OptionsProps) {
  return (
    <ul
      id={`${id}-list`}
      class="menu-panel over"
      role="listbox"
      aria-label={t('eventsFilterLabel')}
      hidden={suggestions.length === 0}
    >
      {suggestions.map((suggestion, index) => (
        <li
          key={`${suggestion.name} ${suggestion.value}`}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === chosen}
          onPointerEnter={() => onPoint(index)}
          // Before the field loses the focus, and with it the text.
          onPointerDown={(event) => {
            event.preventDefault();
            onTake(suggestion);
          }}
        >
          <span class="muted">{filterWords(suggestion)}</span>
          <span class="cut">
            <Marked text={suggestion.words} />
          </span>
        </li>
      ))}
    </ul>
  );
}
