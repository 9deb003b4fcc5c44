import { Field } from '../ui/field.tsx';
import { t } from '../ui/text.ts';

const passwordCharactersMin = 12;

/** The field `next` for a password to be. */
export function NewPasswordField() {
  return (
    <Field
      label={t('accountPasswordNew')}
      name="next"
      type="password"
      autocomplete="new-password"
      required
      minLength={passwordCharactersMin}
      hint={t('accountPasswordRule')}
    />
  );
}
