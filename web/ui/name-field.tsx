import { Field } from './field.tsx';
import { t } from './text.ts';

/** The name of something new, as the service takes it. It comes first in its form and has the focus. */
export function NameField({ hint }: { readonly hint?: string }) {
  return (
    <Field
      label={t('name')}
      name="name"
      required
      maxLength={200}
      pattern=".*\S.*"
      autocomplete="off"
      autofocus
      hint={hint}
    />
  );
}
