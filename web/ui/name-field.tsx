import { Field } from './field.tsx';
import { t } from './text.ts';

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
