import { useId } from 'preact/hooks';

interface OptionsProps<T extends string> {
  readonly label: string;
  readonly name: string;
  /** One of them, or any. */
  readonly type: 'radio' | 'checkbox';
  readonly options: readonly { readonly value: T; readonly words: string; readonly note: string }[];
  readonly isChosen: (value: T) => boolean;
  readonly onChange?: (value: T, isChosen: boolean) => void;
}

/** Fields of a form to choose from, each with what it means; `isChosen` is how they are at first. */
export function Options<T extends string>(props: OptionsProps<T>) {
  const { label, name, type, options, isChosen, onChange } = props;
  const id = useId();
  return (
    <fieldset class="options">
      <legend>{label}</legend>
      {options.map(({ value, words, note }) => (
        <div key={value}>
          <input
            id={`${id}-${value}`}
            type={type}
            name={name}
            value={value}
            defaultChecked={isChosen(value)}
            aria-describedby={`${id}-${value}-note`}
            onChange={({ currentTarget }) => onChange?.(value, currentTarget.checked)}
          />
          <label for={`${id}-${value}`}>{words}</label>
          <p id={`${id}-${value}-note`} class="muted">
            {note}
          </p>
        </div>
      ))}
    </fieldset>
  );
}
