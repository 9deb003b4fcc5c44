import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useId, useState } from 'preact/hooks';
import { brokenAnswer, RequestError } from '../api/request.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { t } from './text.ts';

/** The text of a field of the form, or of the button that sent it, by its name; empty where there is none. */
export type Fields = (name: string) => string;

interface FormProps {
  readonly task: (fields: Fields) => Promise<void>;
  /** What is on the button that sends it; undefined where the fields are buttons. */
  readonly submit?: string | undefined;
  readonly look?: string | undefined;
  /** False while it cannot be sent. */
  readonly isReady?: boolean | undefined;
  /** Why the last try failed, in words; nothing where the fields say so themselves. */
  readonly wordsOf?: ((error: RequestError) => string | undefined) | undefined;
  readonly children: ComponentChildren | ((error: RequestError | undefined) => ComponentChildren);
  /** Before the button, and after it. */
  readonly onCancel?: (() => void) | undefined;
  readonly end?: ComponentChildren;
  /** What is said once it was sent, until something is changed. */
  readonly done?: string;
}

/** Fields that are sent once at a time, and stay with what was typed where that fails. */
export function Form({ task, wordsOf = formFault, children, ...props }: FormProps) {
  const { submit, look = 'primary', isReady = true, onCancel, end, done } = props;
  const [error, setError] = useState<RequestError>();
  const [isBusy, setBusy] = useState(false);
  const [isDone, setDone] = useState(false);
  const fault = error && wordsOf(error);
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

/** Why a form could not be sent, in words. */
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
  /** Undefined where only its button closes it: what it shows cannot be shown again. */
  readonly onClose?: () => void;
}

/** For the `ref` of what has the focus at once: `autofocus` is for a page, or a dialog, that is being opened. */
export function focus(element: HTMLElement | null): void {
  element?.focus();
}

/** A question with fields. */
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
        <p id={`${id}-note`} class={`fine ${fault === undefined ? 'muted' : 'fault'}`}>
          {note}
        </p>
      )}
    </div>
  );
}

/** The name of something, as the service takes it; of something new it comes first in its form and has the focus. */
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
  /** One of them, or any. */
  readonly type: 'radio' | 'checkbox';
  readonly options: readonly (readonly [value: T, words: string, note: string])[];
  /** Is chosen at first. */
  readonly chosen: T;
  readonly onChange?: (value: T, isChosen: boolean) => void;
}

/** Fields of a form to choose from, each with what it means. */
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

/** One of a few, all of them in sight. */
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
