import type { Role } from '../api/types.ts';
import { roleMay, roleName, roles } from '../ui/roles.ts';
import { t } from '../ui/text.ts';

/** The field `role` of a form, with what each role may do. */
export function RoleField({ value }: { readonly value: Role }) {
  return (
    <fieldset class="checks">
      <legend>{t('usersRole')}</legend>
      {roles.map((role) => (
        <label key={role}>
          <input type="radio" name="role" value={role} defaultChecked={role === value} />
          <span>
            {roleName(role)}
            <span class="muted">{roleMay(role)}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
