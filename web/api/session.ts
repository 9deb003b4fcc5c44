import { computed } from '@preact/signals';
import { setServerTime } from './instant.ts';
import { get, isBeingReplaced, refusals, RequestError, resumeSession, send, setOwner } from './request.ts';
import { Resource } from './resource.ts';
import type { Whoami } from './types.ts';

/** The signed-in user, or `out` without a session; undefined before the first answer. */
export const session = new Resource<Whoami | 'out'>();

export interface Credentials {
  readonly email: string;
  readonly password: string;
  readonly organization?: string | undefined;
}

/** The signed-in user; undefined without a session. */
export const who = computed(() => (session.data.value === 'out' ? undefined : session.data.value));

async function whoami(signal?: AbortSignal): Promise<Whoami> {
  const askedAtMs = Date.now();
  const answer = await get<Whoami>('/api/v1/portal/whoami', {}, { signal, impatient: true });
  setServerTime(answer.time, askedAtMs);
  return answer;
}

export function loadSession(): Promise<void> {
  setOwner(undefined);
  return session.load(async (signal) => {
    try {
      const answer = await whoami(signal);
      setOwner(answer);
      return answer;
    } catch (error) {
      if (error instanceof RequestError && error.status === 401) return 'out';
      throw error;
    }
  });
}

/** Roles and settings change while the page is open. */
async function refreshSession(): Promise<void> {
  if (who.value === undefined) return;
  try {
    const answer = await whoami();
    if (who.value !== undefined) session.data.value = answer;
  } catch (error) {
    // The next request shows an ended session or a missing server.
    if (!(error instanceof RequestError)) throw error;
  }
}

refusals.subscribe((count) => {
  if (count > 0) void refreshSession();
});
addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') void refreshSession();
});

/** After an ended session the page continues. Rejects with the organizations if one must be chosen. */
export async function signIn(credentials: Credentials): Promise<void> {
  const before = who.value;
  const body = { ...credentials, list_organizations: true };
  await send('POST', '/api/v1/auth/login-handler', body, { impatient: true });
  await loadSession();
  if (before !== undefined && before.user.id !== who.value?.user.id) location.reload();
  else resumeSession();
}

export async function signOut(): Promise<void> {
  try {
    await send('POST', '/api/v1/auth/logout', {}, { impatient: true });
  } catch (error) {
    // The session had ended already.
    if (!(error instanceof RequestError && error.status === 401)) throw error;
  }
  // Reloading drops everything the page holds of the organization.
  location.assign('/');
}

/** Changes the password. This ends all sessions, so it signs in again. Rejects with RequestError. */
export async function changePassword(current: string, next: string): Promise<void> {
  if (who.value === undefined) return;
  const { user, organization } = who.value;
  isBeingReplaced.value = true;
  try {
    await send('POST', '/api/v1/portal/password', { current, new: next }, { impatient: true });
    await signIn({ email: user.email, password: next, organization: organization.slug });
  } finally {
    isBeingReplaced.value = false;
  }
}
