import type { InputHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';

type FieldProps = InputHTMLAttributes & {
  readonly label: string;
  readonly hint?: string | undefined;
  /** What is wrong with it; the field is marked then. */
  readonly fault?: string | undefined;
};

/** An input with its label, and below it a hint or what is wrong. */
export function Field({ label, hint, fault, ...input }: FieldProps) {
  const id = useId();
  const note = fault ?? hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...input}
        id={id}
        aria-invalid={fault !== undefined}
        {...(note === undefined ? {} : { 'aria-describedby': `${id}-note` })}
      />
      {note !== undefined && (
        <p id={`${id}-note`} class={fault === undefined ? 'muted' : 'fault'}>
          {note}
        </p>
      )}
    </div>
  );
}
