import { useEffect, useRef, useState } from 'preact/hooks';
import { withQuery } from '../api/request.ts';
import { Field } from '../ui/field.tsx';
import { place } from '../ui/router.ts';
import { t, type TextKey } from '../ui/text.ts';

interface SignOnProps {
  readonly organization?: string | undefined;
  /** The organization has to be named first. */
  readonly names: boolean;
  /** There is no other way to sign in. */
  readonly isOnly: boolean;
}

/** The way to the provider of the organization: a load of the page, which comes back to where it is. */
export function SignOn({ organization, names, isOnly }: SignOnProps) {
  const [isNaming, setNaming] = useState(false);
  const style = `button${isOnly ? ' primary' : ''}`;
  if (isNaming) return <OrganizationForm style={style} />;
  if (names)
    return (
      <button type="button" class={style} onClick={() => setNaming(true)}>
        {t('signOn')}
      </button>
    );
  return (
    <a class={style} href={hrefOfSignOn(organization)}>
      {t('signOn')}
    </a>
  );
}

function OrganizationForm({ style }: { readonly style: string }) {
  const form = useRef<HTMLFormElement>(null);
  // The button that had the focus is gone, and `autofocus` is for a page that is being loaded.
  useEffect(() => form.current?.querySelector('input')?.focus(), []);
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const named = new FormData(event.currentTarget).get('organization');
    location.assign(hrefOfSignOn(typeof named === 'string' ? named.trim().toLowerCase() : undefined));
  };
  return (
    <form ref={form} class="form" onSubmit={onSubmit}>
      <Field
        label={t('organization')}
        name="organization"
        autocomplete="organization"
        autocapitalize="none"
        hint={t('signInOrganizationHint')}
        required
      />
      <button type="submit" class={style}>
        {t('signOn')}
      </button>
    </form>
  );
}

function hrefOfSignOn(organization: string | undefined): string {
  const isHere = place.value.view !== '' && place.value.view !== 'sign-in';
  return withQuery('/api/v1/auth/sign-on', {
    organization,
    return: isHere ? `/${location.hash}` : undefined,
  });
}

const faults: Readonly<Record<string, TextKey>> = {
  organization: 'signOnNoOrganization',
  over: 'signOnOver',
  declined: 'signOnDeclined',
  invalid: 'signOnOver',
  provider: 'signOnProvider',
  unverified: 'signOnUnverified',
  unknown: 'signOnUnknown',
  disabled: 'signOnDisabled',
  role: 'signOnRole',
  last_admin: 'signOnLastAdmin',
  linked: 'signOnLinked',
  unlinked: 'signOnUnlinked',
  often: 'signOnOften',
};

/** Why the provider's way ended here, where it did. */
export function SignOnFault() {
  const { view, query } = place.value;
  const fault = query.get('fault');
  if (view !== 'sign-in' || fault === null) return null;
  const reference = query.get('reference');
  return (
    <div class="fault" role="alert">
      <p>{t(Object.hasOwn(faults, fault) ? (faults[fault] ?? 'signOnFailed') : 'signOnFailed')}</p>
      {reference !== null && <p class="muted">{t('frameReference', { id: reference.slice(0, 128) })}</p>}
    </div>
  );
}
