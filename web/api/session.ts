import { signal } from '@preact/signals';
import { setServerTime } from './instant.ts';
import { get, isBeingReplaced, refusals, RequestError, resumeSession, send, setOwner } from './request.ts';
import type { Whoami } from './types.ts';

/** State of the session; `asking` is before the first answer. */
export type SessionState =
  | { readonly state: 'asking' }
  | { readonly state: 'failed'; readonly error: RequestError }
  | { readonly state: 'out' }
  | { readonly state: 'in'; readonly who: Whoami };

export const session = signal<SessionState>({ state: 'asking' });

export interface Credentials {
  readonly email: string;
  readonly password: string;
  readonly organization?: string | undefined;
}

export function organizationName(): string {
  return session.value.state === 'in' ? session.value.who.organization.name : '';
}

async function whoami(): Promise<Whoami> {
  const askedAtMs = Date.now();
  const who = await get<Whoami>('/api/v1/portal/whoami', {}, { impatient: true });
  setServerTime(who.time, askedAtMs);
  return who;
}

/** Asks whether the browser has a valid session. */
export async function loadSession(): Promise<void> {
  setOwner(undefined);
  try {
    const who = await whoami();
    setOwner(who);
    session.value = { state: 'in', who };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    session.value = error.status === 401 ? { state: 'out' } : { state: 'failed', error };
  }
}

/** Roles and settings change while the page is open. */
async function refreshSession(): Promise<void> {
  if (session.value.state !== 'in') return;
  try {
    const who = await whoami();
    if (session.value.state === 'in') session.value = { state: 'in', who };
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

/**
 * Signs in. Rejects with RequestError, which lists organizations if one must be chosen. After an ended
 * session the page continues, unless another user signs in.
 */
export async function signIn(credentials: Credentials): Promise<void> {
  const before = session.value.state === 'in' ? session.value.who : undefined;
  const body = { ...credentials, list_organizations: true };
  await send('POST', '/api/v1/auth/login-handler', body, { impatient: true });
  await loadSession();
  const after = session.value.state === 'in' ? session.value.who : undefined;
  if (before !== undefined && before.user.id !== after?.user.id) location.reload();
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
  if (session.value.state !== 'in') return;
  const { user, organization } = session.value.who;
  isBeingReplaced.value = true;
  try {
    await send('POST', '/api/v1/portal/password', { current, new: next }, { impatient: true });
    await signIn({ email: user.email, password: next, organization: organization.slug });
  } finally {
    isBeingReplaced.value = false;
  }
}
