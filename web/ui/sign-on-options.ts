import { useEffect, useState } from 'preact/hooks';
import { get, RequestError } from '../api/request.ts';
import { session } from '../api/session.ts';
import type { SignOnOptions } from '../api/types.ts';

/** Where nobody can say how people sign in, it is by password. */
const unknown: SignOnOptions = { sign_on: false, passwords: true, names_organization: false };

/** How people of an organization sign in; undefined until the server has said so. */
export function useSignOnOptions(organization: string | undefined): SignOnOptions | undefined {
  const [options, setOptions] = useState<SignOnOptions>();
  useEffect(() => {
    const ask = async () => {
      try {
        setOptions(await get('/api/v1/auth/sign-on-options', { organization }, { impatient: true }));
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        setOptions(unknown);
      }
    };
    void ask();
  }, [organization]);
  return options;
}

/** Whether people of the organization whose page it is may sign in by password; false until the server has said so. */
export function useHasPasswords(): boolean {
  const { value } = session;
  const options = useSignOnOptions(value.state === 'in' ? value.who.organization.slug : undefined);
  return options?.passwords === true;
}
