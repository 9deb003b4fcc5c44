import { withQuery } from '../api/request.ts';
import { Field, Form } from '../ui/forms.tsx';
import { place } from '../ui/router.ts';
import { isTextKey, t } from '../ui/text.ts';

interface SignOnProps {
  readonly organization?: string | undefined;
  /** The organization must be named first. */
  readonly names: boolean;
  /** There is no other way to sign in. */
  readonly isOnly: boolean;
}

/** Leads to the organization's provider, which returns to the current address. */
export function SignOn({ organization, names, isOnly }: SignOnProps) {
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

export function OrganizationField({ isRequired = false }: { readonly isRequired?: boolean }) {
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

/** Why sign-in by the provider failed, if it did. */
export function SignOnFault() {
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
