import { useEffect } from 'preact/hooks';
import { limitPause } from '../api/rate-limit.ts';
import { isAnothers, isSessionOver } from '../api/request.ts';
import { session, who } from '../api/session.ts';
import type { Whoami } from '../api/types.ts';
import { isPrinting, lately } from '../ui/browser.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { formatExact } from '../ui/format.ts';
import { Countdown, FailureOf, lazy, Loaded, loadPart, useResource } from '../ui/resource.tsx';
import icon from '../ui/icon.svg';
import { hrefOf, place } from '../ui/router.ts';
import { announcement, t } from '../ui/text.ts';
import { type View, views } from '../views.ts';
import { AccountMenu } from './account-menu.tsx';
import { KeyboardHelp } from './keyboard-help.tsx';

/** For those who have no session, or not any more. */
const SignInPage = lazy(async () => (await import('./sign-in.tsx')).SignInPage);
const SignInForm = lazy(async () => (await import('./sign-in.tsx')).SignInForm);
const NewPasswordPage = lazy(async () => (await import('./passwords.tsx')).NewPasswordPage);

export function Frame() {
  const { view, query } = place.value;
  if (view === 'password') return <NewPasswordPage token={query.get('token') ?? ''} />;
  if (who.value !== undefined) return <SignedIn who={who.value} />;
  if (session.error.value === undefined) return session.data.value === 'out' ? <SignInPage /> : null;
  return (
    <main class="lone">
      <FailureOf resource={session} />
    </main>
  );
}

function SignedIn({ who }: { readonly who: Whoami }) {
  const allowed = views.filter(({ roles }) => roles.includes(who.user.role));
  const wanted = views.find(({ path }) => path === place.value.view) ?? allowed[0];
  const view = allowed.find((one) => one === wanted);
  useEffect(() => {
    document.title = `${wanted === undefined ? '' : `${t(wanted.title)} · `}${who.organization.name}`;
  });
  useEffect(() => {
    // On a phone the navigation is wider than the bar.
    document.querySelector('nav [aria-current]')?.scrollIntoView({ inline: 'nearest', block: 'nearest' });
  }, [view]);
  return (
    <div class="frame">
      <a class="skip over" href="#content" onClick={skipToContent}>
        {t('skipToContent')}
      </a>
      <header class="bar">
        <a class="brand" href={hrefOf(view?.path ?? '')} title={who.organization.slug}>
          <img src={icon} alt="" width={16} height={16} />
          <span class="cut">{who.organization.name}</span>
        </a>
        <nav aria-label={t('views')}>
          {allowed.map(({ path, title }) => (
            <a
              key={path}
              class="tab"
              href={hrefOf(path)}
              aria-current={path === view?.path ? 'page' : undefined}
            >
              {t(title)}
            </a>
          ))}
        </nav>
        <AccountMenu who={who} />
      </header>
      {isPrinting.value && <p class="print-note">{printedWords(who, wanted)}</p>}
      <main id="content" tabIndex={-1}>
        {view === undefined ? (
          <p class="empty">
            {t('frameNotForRole', { view: wanted ? t(wanted.title) : '', role: t(`role_${who.user.role}`) })}
          </p>
        ) : (
          <LoadedView key={view.path} view={view} />
        )}
      </main>
      <Overlays who={who} />
    </div>
  );
}

function printedWords({ user, organization }: Whoami, view: View | undefined): string {
  return t('framePrinted', {
    organization: organization.name,
    view: view === undefined ? '' : t(view.title),
    time: formatExact(lately.value * 1000),
    name: user.name,
    email: user.email,
  });
}

/** Notices above every view. */
function Overlays({ who }: { readonly who: Whoami }) {
  const limit = limitPause.value;
  return (
    <>
      <div class="limit-notice" role="status">
        {limit !== undefined && (
          <p>
            <Countdown text="frameLimit" until={limit.until} values={{ limit: limit.requests }} />
          </p>
        )}
      </div>
      <KeyboardHelp />
      {isAnothers.value && (
        <Dialog title={t('frameAnother')}>
          <p>{t('frameAnotherHint', { name: who.user.name, organization: who.organization.name })}</p>
          <div class="actions line">
            <Button look="primary" onClick={() => location.reload()}>
              {t('reload')}
            </Button>
          </div>
        </Dialog>
      )}
      {isSessionOver.value && (
        <Dialog title={t('signInAgain')}>
          <p class="muted">{t('signInOver')}</p>
          <SignInForm email={who.user.email} organization={who.organization.slug} />
        </Dialog>
      )}
      <p class="visually-hidden" role="status">
        {announcement.value}
      </p>
    </>
  );
}

function skipToContent(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

function LoadedView({ view }: { readonly view: View }) {
  const { resource } = useResource(() => loadPart(view.load), [view]);
  return <Loaded resource={resource}>{({ default: Content }) => <Content />}</Loaded>;
}
