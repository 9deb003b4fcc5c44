import type { InputHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';

type FieldProps = InputHTMLAttributes & {
  readonly label: string;
  readonly hint?: string | undefined;
  /** What is wrong with it; the field is marked then. */
  readonly fault?: string | undefined;
  /** One of a few; `defaultValue` is chosen at first. */
  readonly options?: readonly (readonly [value: string, words: string])[] | undefined;
};

/** A field of a form with its label, and below it a hint or what is wrong. */
export function Field({ label, hint, fault, options, ...attributes }: FieldProps) {
  const id = useId();
  const note = fault ?? hint;
  const common = {
    id,
    'aria-invalid': fault !== undefined,
    ...(note === undefined ? {} : { 'aria-describedby': `${id}-note` }),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {options === undefined ? (
        <input {...attributes} {...common} />
      ) : (
        <select name={attributes.name} {...common}>
          {options.map(([option, words]) => (
            <option key={option} value={option} selected={option === attributes.defaultValue}>
              {words}
            </option>
          ))}
        </select>
      )}
      {note !== undefined && (
        <p id={`${id}-note`} class={fault === undefined ? 'muted' : 'fault'}>
          {note}
        </p>
      )}
    </div>
  );
}
