import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { forgetChange } from '../api/change-key.ts';
import { brokenAnswer, RequestError } from '../api/request.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { t } from './text.ts';

/** The text of a field, or of the pressed button, by its name; empty if there is none. */
export type Fields = (name: string) => string;

interface FormProps {
  readonly task: (fields: Fields) => Promise<void>;
  /** Label of the submit button; undefined if the fields are buttons. */
  readonly submit?: string | undefined;
  readonly look?: string | undefined;
  readonly isReady?: boolean | undefined;
  /** Message of a failure; undefined if a field shows it. */
  readonly wordsOf?: ((error: RequestError) => string | undefined) | undefined;
  readonly children: ComponentChildren | ((error: RequestError | undefined) => ComponentChildren);
  readonly onCancel?: (() => void) | undefined;
  readonly end?: ComponentChildren;
  /** Shown after success until something changes. */
  readonly done?: string;
}

/** A form that is sent once at a time; after a failure it keeps the typed text. */
export function Form({ task, wordsOf = formFault, children, ...props }: FormProps) {
  const { submit, look = 'primary', isReady = true, onCancel, end, done } = props;
  const [error, setError] = useState<RequestError>();
  const [isBusy, setBusy] = useState(false);
  const [isDone, setDone] = useState(false);
  const fault = error && wordsOf(error);
  useEffect(forgetChange, []);
  const send = async (data: FormData) => {
    setBusy(true);
    setError(undefined);
    try {
      await task((name) => textOf(data.get(name)));
      setDone(true);
    } catch (failure) {
      setError(failure instanceof RequestError ? failure : brokenAnswer());
      if (!(failure instanceof RequestError)) throw failure;
    } finally {
      setBusy(false);
    }
  };
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    if (event.currentTarget instanceof HTMLFormElement && !isBusy)
      void send(new FormData(event.currentTarget, event.submitter));
  };
  return (
    <form class="form" onSubmit={onSubmit} onInput={() => setDone(false)}>
      {typeof children === 'function' ? children(error) : children}
      {fault !== undefined && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      <div class="actions line">
        {onCancel && <Button onClick={onCancel}>{t('cancel')}</Button>}
        {submit !== undefined && (
          <Button type="submit" look={look} disabled={isBusy || !isReady}>
            {submit}
          </Button>
        )}
        {isDone && <span class="muted">{done}</span>}
        {end}
      </div>
    </form>
  );
}

export function formFault(error: RequestError): string {
  if (error.kind === 'offline' || error.kind === 'broken') return t(`failure_${error.kind}`);
  if (error.status === 429) return t('signInTooOften', { seconds: error.retryAfterSeconds ?? 60 });
  return t('failure_refused', { detail: error.message });
}

function textOf(value: FormDataEntryValue | null): string {
  return typeof value === 'string' ? value : '';
}

interface FormDialogProps extends FormProps {
  readonly title: string;
  /** Undefined if only its button closes it: its content cannot be shown again. */
  readonly onClose?: () => void;
}

/** A `ref` that takes the focus at once: `autofocus` works only while a page or dialog opens. */
export function focus(element: HTMLElement | null): void {
  element?.focus();
}

export function FormDialog({ title, onClose, ...form }: FormDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Form {...form} onCancel={onClose} />
    </Dialog>
  );
}

type FieldProps = InputHTMLAttributes & {
  readonly label: string;
  readonly hint?: string | undefined;
  /** The message of an invalid value, which marks the field. */
  readonly fault?: string | undefined;
  /** Choices; `defaultValue` is chosen first. */
  readonly options?: readonly (readonly [value: string, words: string])[] | undefined;
};

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
        <p id={`${id}-note`} class={`fine ${fault === undefined ? 'muted' : 'fault'}`}>
          {note}
        </p>
      )}
    </div>
  );
}

/** A name as the service accepts it. For a new thing it comes first and has the focus. */
export function NameField({ hint, value }: { readonly hint?: string; readonly value?: string }) {
  return (
    <Field
      label={t('name')}
      name="name"
      required
      maxLength={200}
      pattern=".*\S.*"
      autocomplete="off"
      autofocus={value === undefined}
      defaultValue={value}
      hint={hint}
    />
  );
}

interface OptionsProps<T extends string> {
  readonly label: string;
  readonly name: string;
  readonly type: 'radio' | 'checkbox';
  readonly options: readonly (readonly [value: T, words: string, note: string])[];
  readonly chosen: T;
  readonly onChange?: (value: T, isChosen: boolean) => void;
}

export function Options<T extends string>({ label, options, chosen, onChange, ...input }: OptionsProps<T>) {
  const id = useId();
  return (
    <fieldset class="options">
      <legend>{label}</legend>
      {options.map(([value, words, note]) => (
        <div key={value}>
          <input
            {...input}
            id={`${id}-${value}`}
            value={value}
            defaultChecked={value === chosen}
            aria-describedby={`${id}-${value}-note`}
            onChange={({ currentTarget }) => onChange?.(value, currentTarget.checked)}
          />
          <label for={`${id}-${value}`}>{words}</label>
          <p id={`${id}-${value}-note`} class="fine muted">
            {note}
          </p>
        </div>
      ))}
    </fieldset>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly (readonly [value: T, words: string])[];
  readonly onChange: (value: T) => void;
}

/** A choice whose few options are all visible. */
export function Choice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  const name = useId();
  return (
    <fieldset class="choice">
      <legend class="visually-hidden">{label}</legend>
      <div>
        {options.map(([option, words]) => (
          <label key={option} class="tab">
            <input type="radio" name={name} checked={option === value} onChange={() => onChange(option)} />
            {words}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
