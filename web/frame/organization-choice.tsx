import { useEffect, useRef } from 'preact/hooks';
import { type Credentials, signIn } from '../api/session.ts';
import type { OrganizationName } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { Fault } from '../ui/fault.tsx';
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
          <Button
            key={slug}
            ref={index === 0 ? first : null}
            type="submit"
            onClick={() => (chosen.current = slug)}
          >
            <span class="cut">{name}</span>
            <span class="muted cut">{slug}</span>
          </Button>
        ))}
      </fieldset>
      <Fault>{error && signInFault(error)}</Fault>
      <Button look="quiet small" onClick={onBack}>
        {t('signInBack')}
      </Button>
    </form>
  );
}
