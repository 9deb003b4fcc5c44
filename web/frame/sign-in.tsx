import { useState } from 'preact/hooks';
import { RequestError } from '../api/request.ts';
import { signIn } from '../api/session.ts';
import { Field } from '../ui/field.tsx';
import { useSubmission } from '../ui/submission.ts';
import { language, t } from '../ui/text.ts';

/** The whole page of somebody who has no session. */
export function SignInPage() {
  document.title = t('product');
  const other = language.value === 'de' ? 'en' : 'de';
  return (
    <main class="sign-in">
      <div>
        <span class="mark large" aria-hidden="true" />
        <h1>{t('product')}</h1>
        <p class="muted">{t('signInLead')}</p>
        <SignInForm />
        <button
          type="button"
          class="button quiet small"
          lang={other}
          onClick={() => (language.value = other)}
        >
          {other === 'de' ? 'Deutsch' : 'English'}
        </button>
      </div>
    </main>
  );
}

interface SignInFormProps {
  /** Of a session that is over: only this person goes on with it. */
  readonly email?: string;
  readonly organization?: string;
}

/**
 * What is wrong is said in one way whatever it is, as the server does: nobody learns which addresses there are. After a
 * refusal the organization can be named, since an address may be in several.
 */
export function SignInForm({ email, organization }: SignInFormProps) {
  const [asksOrganization, setAsksOrganization] = useState(false);
  const { error, isBusy, onSubmit } = useSubmission(async (field) => {
    const named = organization ?? field('organization').trim().toLowerCase();
    try {
      await signIn({
        email: email ?? field('email').trim(),
        password: field('password'),
        organization: named === '' ? undefined : named,
      });
    } catch (failure) {
      if (failure instanceof RequestError && failure.status === 401) setAsksOrganization(true);
      throw failure;
    }
  });
  const isKnown = organization !== undefined;
  return (
    <form class="form" onSubmit={onSubmit}>
      <Field
        label={t('email')}
        name="email"
        type="email"
        autocomplete="username"
        required
        value={email}
        readOnly={email !== undefined}
        autofocus={email === undefined}
      />
      <Field
        label={t('password')}
        name="password"
        type="password"
        autocomplete="current-password"
        required
        autofocus={email !== undefined}
      />
      {!isKnown && asksOrganization && <OrganizationField />}
      {error !== undefined && (
        <p class="fault" role="alert">
          {wordsOf(error)} {error.status === 401 && !isKnown && t('signInWhich')}
        </p>
      )}
      <button type="submit" class="button primary" disabled={isBusy}>
        {t('signIn')}
      </button>
      {!isKnown && !asksOrganization && (
        <button type="button" class="button quiet small" onClick={() => setAsksOrganization(true)}>
          {t('signInChooseOrganization')}
        </button>
      )}
    </form>
  );
}

function OrganizationField() {
  return (
    <Field
      label={t('organization')}
      name="organization"
      autocomplete="organization"
      autocapitalize="none"
      hint={t('signInOrganizationHint')}
    />
  );
}

function wordsOf(error: RequestError): string {
  if (error.kind === 'offline') return t('frameOffline');
  if (error.status === 429) return t('signInTooOften', { seconds: error.retryAfterSeconds ?? 60 });
  return error.kind === 'unavailable' ? t('signInUnavailable') : t('signInWrong');
}
