import { useState } from 'preact/hooks';
import { RequestError } from '../api/request.ts';
import { Button } from '../ui/button.tsx';
import { useSignOnOptions } from '../ui/sign-on-options.ts';
import { type Credentials, signIn } from '../api/session.ts';
import type { OrganizationName } from '../api/types.ts';
import { Fault } from '../ui/fault.tsx';
import { Field } from '../ui/field.tsx';
import { useSubmission } from '../ui/submission.ts';
import { language, t } from '../ui/text.ts';
import { OrganizationChoice } from './organization-choice.tsx';
import { signInFault } from './sign-in-fault.ts';
import { SignOn, SignOnFault } from './sign-on.tsx';

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
        <SignOnFault />
        <SignInForm />
        <Button look="quiet small" lang={other} onClick={() => (language.value = other)}>
          {other === 'de' ? 'Deutsch' : 'English'}
        </Button>
      </div>
    </main>
  );
}

interface SignInFormProps {
  /** Of a session that is over: only this person goes on with it. */
  readonly email?: string;
  readonly organization?: string;
}

/** A password that is right in several organizations, until one of them is chosen. */
interface Choice {
  readonly credentials: Credentials;
  readonly organizations: readonly OrganizationName[];
}

/** By the provider of the organization, by password, or by either. */
export function SignInForm(props: SignInFormProps) {
  const options = useSignOnOptions(props.organization);
  if (options === undefined) return null;
  const { sign_on: isThere, passwords, names_organization: names } = options;
  return (
    <>
      {isThere && (
        <div class="sign-on">
          <SignOn organization={props.organization} names={names} isOnly={!passwords} />
        </div>
      )}
      {isThere && passwords && <p class="or muted">{t('signInOr')}</p>}
      {passwords && <PasswordForm {...props} />}
    </>
  );
}

/**
 * What is wrong is said in one way whatever it is, as the server does: nobody learns which addresses there are. Whose
 * password is right in several organizations chooses one.
 */
function PasswordForm({ email, organization }: SignInFormProps) {
  const [choice, setChoice] = useState<Choice>();
  const [namesOrganization, setNamesOrganization] = useState(false);
  const { error, isBusy, onSubmit } = useSubmission(async (field) => {
    const named = organization ?? field('organization').trim().toLowerCase();
    const credentials = {
      email: email ?? field('email').trim(),
      password: field('password'),
      organization: named === '' ? undefined : named,
    };
    try {
      await signIn(credentials);
    } catch (failure) {
      if (!(failure instanceof RequestError) || failure.organizations.length === 0) throw failure;
      setChoice({ credentials, organizations: failure.organizations });
    }
  });
  if (choice !== undefined) return <OrganizationChoice {...choice} onBack={() => setChoice(undefined)} />;
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
      {namesOrganization && <OrganizationField />}
      <Fault>{error && signInFault(error)}</Fault>
      <Button type="submit" look="primary" disabled={isBusy}>
        {t('signIn')}
      </Button>
      {!isKnown && !namesOrganization && (
        <Button look="quiet small" onClick={() => setNamesOrganization(true)}>
          {t('signInNameOrganization')}
        </Button>
      )}
    </form>
  );
}

/** For who knows the name already, or has an address in more organizations than the server lists. */
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
