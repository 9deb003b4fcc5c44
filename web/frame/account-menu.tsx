import { useState } from 'preact/hooks';
import { signOut } from '../api/session.ts';
import type { Whoami } from '../api/types.ts';
import { theme } from '../ui/browser.ts';
import { Button, Icon } from '../ui/button.tsx';
import { zone } from '../ui/format.ts';
import { Choice } from '../ui/forms.tsx';
import { Menu } from '../ui/menu.tsx';
import { useHasPasswords } from '../ui/sign-on-options.ts';
import { language, t } from '../ui/text.ts';
import { PasswordDialog } from './passwords.tsx';

/** Which times are shown, at once, and behind the name: appearance, language, password, the way out. */
export function AccountMenu({ who }: { readonly who: Whoami }) {
  const [changesPassword, setChangesPassword] = useState(false);
  const { name, email, role } = who.user;
  return (
    <div class="account line">
      <Button
        look="quiet small"
        aria-label={`${t('accountTimes')}: ${t(`zone_${zone.value}`)}`}
        title={t('accountTimes')}
        onClick={() => (zone.value = zone.value === 'utc' ? 'local' : 'utc')}
      >
        <Icon name="clock" />
        {t(`zone_${zone.value}`)}
      </Button>
      <Menu
        class="button quiet"
        label={`${name}: ${t('accountMenu')}`}
        button={
          <>
            <Icon name="user" />
            <span class="name cut roomy-only">{name}</span>
            <Icon name="chevron" />
          </>
        }
      >
        {(close) => (
          <div class="account-panel stack">
            <div>
              <strong>{name}</strong>
              <p class="muted">{email}</p>
              <p class="muted">{t(`role_${role}`)}</p>
            </div>
            <Appearance />
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

/** Nothing where people sign in by their provider alone. */
function PasswordButton({ onClick }: { readonly onClick: () => void }) {
  if (!useHasPasswords()) return null;
  return (
    <Button look="quiet" onClick={onClick}>
      {t('accountPassword')}
    </Button>
  );
}

function Appearance() {
  const themes = ['system', 'light', 'dark'] as const;
  return (
    <>
      <Choice
        label={t('accountTheme')}
        value={theme.value}
        options={themes.map((one) => [one, t(`theme_${one}`)])}
        onChange={(value) => (theme.value = value)}
      />
      <Choice
        label={t('language')}
        value={language.value}
        options={[
          ['en', 'English'],
          ['de', 'Deutsch'],
        ]}
        onChange={(value) => (language.value = value)}
      />
    </>
  );
}
