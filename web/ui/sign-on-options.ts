import { get, RequestError } from '../api/request.ts';
import { who } from '../api/session.ts';
import type { SignOnOptions } from '../api/types.ts';
import { useResource } from './resource.tsx';

/** Without an answer, sign-in is by password. */
const unknown: SignOnOptions = { sign_on: false, passwords: true, names_organization: false };

/** Sign-in methods of an organization; undefined until the server has answered. */
export function useSignOnOptions(organization: string | undefined): SignOnOptions | undefined {
  const ask = (signal: AbortSignal) =>
    get<SignOnOptions>('/api/v1/auth/sign-on-options', { organization }, { signal, impatient: true });
  const orUnknown = (error: unknown) => {
    if (error instanceof RequestError) return unknown;
    throw error;
  };
  const { resource } = useResource((signal) => ask(signal).catch(orUnknown), [organization]);
  return resource.data.value;
}

/** Whether users of the page's organization may sign in by password; false until the server has answered. */
export function useHasPasswords(): boolean {
  return useSignOnOptions(who.value?.organization.slug)?.passwords === true;
}
