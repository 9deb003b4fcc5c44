import { useState } from 'preact/hooks';
import { signOut } from '../api/session.ts';
import type { Whoami } from '../api/types.ts';
import { theme } from '../ui/browser.ts';
import { Button } from '../ui/button.tsx';
import { zone } from '../ui/format.ts';
import { Choice } from '../ui/forms.tsx';
import { Menu } from '../ui/menu.tsx';
import { lazy } from '../ui/resource.tsx';
import { useHasPasswords } from '../ui/sign-on-options.ts';
import { changeLanguage, language, t } from '../ui/text.ts';

const PasswordDialog = lazy(async () => (await import('./passwords.tsx')).PasswordDialog);
const themes = ['system', 'light', 'dark'] as const;

/** The time zone, and behind the name: appearance, language, password, sign out. */
export function AccountMenu({ who }: { readonly who: Whoami }) {
  const [changesPassword, setChangesPassword] = useState(false);
  const { name, email, role } = who.user;
  return (
    <div class="account line">
      <Button
        icon="clock"
        look="quiet small"
        aria-label={`${t('accountTimes')}: ${t(`zone_${zone.value}`)}`}
        title={t('accountTimes')}
        onClick={() => (zone.value = zone.value === 'utc' ? 'local' : 'utc')}
      >
        {t(`zone_${zone.value}`)}
      </Button>
      <Menu
        class="button quiet"
        label={`${name}: ${t('accountMenu')}`}
        icon="user"
        button={<span class="name cut roomy-only">{name}</span>}
      >
        {(close) => (
          <div class="account-panel stack">
            <div>
              <strong>{name}</strong>
              <p class="muted">{email}</p>
              <p class="muted">{t(`role_${role}`)}</p>
            </div>
            <Choice
              label={t('accountTheme')}
              value={theme.value}
              options={themes.map((one) => [one, t(`theme_${one}`)])}
              onChange={(value) => (theme.value = value)}
            />
            <LanguageButton look="quiet" />
            <PasswordButton
              onClick={() => {
                close();
                setChangesPassword(true);
              }}
            />
            <a class="button quiet" href="/docs">
              {t('accountApi')}
            </a>
            <Button look="quiet" onClick={() => void signOut()}>
              {t('signOut')}
            </Button>
          </div>
        )}
      </Menu>
      {changesPassword && <PasswordDialog email={email} onClose={() => setChangesPassword(false)} />}
    </div>
  );
}

/** Absent if people sign in only by their provider. */
function PasswordButton({ onClick }: { readonly onClick: () => void }) {
  if (!useHasPasswords()) return null;
  return (
    <Button look="quiet" onClick={onClick}>
      {t('accountPassword')}
    </Button>
  );
}

/** The other language, by its own name. */
export function LanguageButton({ look }: { readonly look: string }) {
  const other = language.value === 'de' ? 'en' : 'de';
  return (
    <Button look={look} lang={other} onClick={() => void changeLanguage(other)}>
      {other === 'de' ? 'Deutsch' : 'English'}
    </Button>
  );
}
