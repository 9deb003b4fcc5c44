import { useState } from 'preact/hooks';
import { RequestError, withQuery } from '../api/request.ts';
import { type Credentials, signIn } from '../api/session.ts';
import type { OrganizationName } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { Field, type Fields, focus, Form, formFault } from '../ui/forms.tsx';
import { place } from '../ui/router.ts';
import { useSignOnOptions } from '../ui/sign-on-options.ts';
import { isTextKey, t } from '../ui/text.ts';
import { LanguageButton } from './account-menu.tsx';
import { Entrance } from './entrance.tsx';

export function SignInPage() {
  return (
    <Entrance title={t('product')} lead={t('signInLead')}>
      <SignOnFault />
      <SignInForm />
      <LanguageButton look="quiet small" />
    </Entrance>
  );
}

interface SignInFormProps {
  /** The user whose session ended: only the same user continues. */
  readonly email?: string;
  readonly organization?: string;
}

export function SignInForm(props: SignInFormProps) {
  const options = useSignOnOptions(props.organization);
  if (options === undefined) return null;
  const { sign_on: isThere, passwords, names_organization: names } = options;
  return (
    <>
      {isThere && <SignOn organization={props.organization} names={names} isOnly={!passwords} />}
      {isThere && passwords && <p class="muted">{t('signInOr')}</p>}
      {passwords && <PasswordForm {...props} />}
    </>
  );
}

/** Organizations in which the password is right, until one is chosen. */
interface Choice {
  readonly credentials: Credentials;
  readonly organizations: readonly OrganizationName[];
}

/** Every failed sign-in has the same message, so that it does not reveal which addresses exist. */
function PasswordForm({ email, organization }: SignInFormProps) {
  const [choice, setChoice] = useState<Choice>();
  const [namesOrganization, setNamesOrganization] = useState(false);
  const task = async (field: Fields) => {
    const named = organization ?? field('organization').trim().toLowerCase();
    const credentials = {
      email: email ?? field('email').trim(),
      password: field('password'),
      organization: named === '' ? undefined : named,
    };
    try {
      await signIn(credentials);
    } catch (failure) {
      const organizations = failure instanceof RequestError ? failure.problem.organizations : undefined;
      if (organizations === undefined || organizations.length === 0) throw failure;
      setChoice({ credentials, organizations });
    }
  };
  if (choice !== undefined) return <OrganizationChoice {...choice} onBack={() => setChoice(undefined)} />;
  const nameButton = organization === undefined && !namesOrganization && (
    <Button look="quiet small" onClick={() => setNamesOrganization(true)}>
      {t('signInNameOrganization')}
    </Button>
  );
  return (
    <Form task={task} submit={t('signIn')} wordsOf={signInFault} end={nameButton}>
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
      {/* For those who know the name, or have an address in more organizations than the server lists. */}
      {namesOrganization && <OrganizationField />}
    </Form>
  );
}

function OrganizationChoice({
  organizations,
  credentials,
  onBack,
}: Choice & { readonly onBack: () => void }) {
  const backButton = (
    <Button look="quiet small" onClick={onBack}>
      {t('signInBack')}
    </Button>
  );
  return (
    <Form
      task={(field) => signIn({ ...credentials, organization: field('organization') })}
      wordsOf={signInFault}
      end={backButton}
    >
      <fieldset class="organizations stack">
        <legend>{t('signInChoose')}</legend>
        {organizations.map(({ slug, name }, index) => (
          <Button key={slug} ref={index === 0 ? focus : null} type="submit" name="organization" value={slug}>
            <span class="cut">{name}</span>
            <span class="muted cut">{slug}</span>
          </Button>
        ))}
      </fieldset>
    </Form>
  );
}

function signInFault(error: RequestError): string {
  if (error.status === 429 || (error.kind !== 'unavailable' && error.kind !== 'refused'))
    return formFault(error);
  return t(error.kind === 'unavailable' ? 'signInUnavailable' : 'signInWrong');
}

interface SignOnProps {
  readonly organization?: string | undefined;
  /** The organization must be named first. */
  readonly names: boolean;
  /** There is no other way to sign in. */
  readonly isOnly: boolean;
}

/** Leads to the organization's provider, which returns to the current address. */
function SignOn({ organization, names, isOnly }: SignOnProps) {
  const look = isOnly ? 'primary' : '';
  if (names)
    return (
      <Form
        submit={t('signOn')}
        look={look}
        task={async (field) => location.assign(hrefOfSignOn(field('organization').trim().toLowerCase()))}
      >
        <OrganizationField isRequired />
      </Form>
    );
  return (
    <a class={`button ${look}`} href={hrefOfSignOn(organization)}>
      {t('signOn')}
    </a>
  );
}

function OrganizationField({ isRequired = false }: { readonly isRequired?: boolean }) {
  return (
    <Field
      label={t('organization')}
      name="organization"
      autocomplete="organization"
      autocapitalize="none"
      required={isRequired}
      hint={t('signInOrganizationHint')}
    />
  );
}

function hrefOfSignOn(organization: string | undefined): string {
  const isHere = place.value.view !== '' && place.value.view !== 'sign-in';
  return withQuery('/api/v1/auth/sign-on', {
    organization,
    return: isHere ? `/${location.hash}` : undefined,
  });
}

function SignOnFault() {
  const { view, query } = place.value;
  const fault = query.get('fault');
  if (view !== 'sign-in' || fault === null) return null;
  const key = `signOn_${fault}`;
  const reference = query.get('reference');
  return (
    <div class="sign-on-fault fault" role="alert">
      <p>{t(isTextKey(key) ? key : 'signOn_failed')}</p>
      {reference !== null && <p class="muted">{t('frameReference', { id: reference.slice(0, 128) })}</p>}
    </div>
  );
}
