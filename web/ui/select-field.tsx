import { useId } from 'preact/hooks';

interface SelectFieldProps {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, words: string])[];
  readonly hint?: string;
}

/** A field of a form that is one of a few; `value` is chosen at first. */
export function SelectField({ label, name, value, options, hint }: SelectFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        name={name}
        defaultValue={value}
        {...(hint === undefined ? {} : { 'aria-describedby': `${id}-note` })}
      >
        {options.map(([option, words]) => (
          <option key={option} value={option} selected={option === value}>
            {words}
          </option>
        ))}
      </select>
      {hint !== undefined && (
        <p id={`${id}-note`} class="muted">
          {hint}
        </p>
      )}
    </div>
  );
}
