import type { Role } from '../api/types.ts';
import { Options } from '../ui/options.tsx';
import { roleMay, roleName, roles } from '../ui/roles.ts';
import { t } from '../ui/text.ts';

/** The field `role` of a form, with what each role may do. */
export function RoleField({ value }: { readonly value: Role }) {
  return (
    <Options
      label={t('usersRole')}
      name="role"
      type="radio"
      options={roles.map((role) => ({ value: role, words: roleName(role), note: roleMay(role) }))}
      isChosen={(role) => role === value}
    />
  );
}
