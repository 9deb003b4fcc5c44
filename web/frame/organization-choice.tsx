import { useEffect, useRef } from 'preact/hooks';
import { type Credentials, signIn } from '../api/session.ts';
import type { OrganizationName } from '../api/types.ts';
import { useSubmission } from '../ui/submission.ts';
import { t } from '../ui/text.ts';
import { signInFault } from './sign-in-fault.ts';

interface OrganizationChoiceProps {
  /** The password is right in each of these. */
  readonly organizations: readonly OrganizationName[];
  readonly credentials: Credentials;
  readonly onBack: () => void;
}

/** Where to sign in, for somebody whose address is in several organizations: a button for each. */
export function OrganizationChoice({ organizations, credentials, onBack }: OrganizationChoiceProps) {
  const chosen = useRef('');
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), []);
  const { error, isBusy, onSubmit } = useSubmission(() =>
    signIn({ ...credentials, organization: chosen.current }),
  );
  return (
    <form class="form" onSubmit={onSubmit}>
      <fieldset class="organizations" disabled={isBusy}>
        <legend>{t('signInChoose')}</legend>
        {organizations.map(({ slug, name }, index) => (
          <button
            key={slug}
            ref={index === 0 ? first : null}
            type="submit"
            class="button"
            onClick={() => (chosen.current = slug)}
          >
            <span>{name}</span>
            <span class="muted">{slug}</span>
          </button>
        ))}
      </fieldset>
      {error !== undefined && (
        <p class="fault" role="alert">
          {signInFault(error)}
        </p>
      )}
      <button type="button" class="button quiet small" onClick={onBack}>
        {t('signInBack')}
      </button>
    </form>
  );
}
