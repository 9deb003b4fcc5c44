import { strict as assert } from 'node:assert';
import { call, eventually, type HttpAnswer, type HttpCall } from '../support/http.ts';
import { printed, type SharedServer } from '../support/server.ts';

/** Users and their sessions, for black-box tests. */

export const password = 'correct horse battery staple';

export type Role = 'admin' | 'auditor' | 'member';

export interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly role: string;
}

/** The session of an answer: its cookie as a browser sends it, and the token. */
export interface SignedIn {
  readonly cookie: string;
  readonly token: string;
  readonly answer: HttpAnswer;
  /** GET with the cookie; the path is sent unchanged. */
  get(path: string, headers?: Record<string, string>): Promise<HttpAnswer>;
  /** A change with the cookie: JSON, unless the headers say otherwise. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<HttpAnswer>;
}

/** A new user by the command line. */
export async function createUser(
  server: SharedServer,
  organization: string,
  role: Role,
  email: string,
): Promise<User> {
  const args = ['user', 'create', '--org', organization, '--email', email, '--name', `The ${role}`];
  const answer = await server.cliHere(
    [...args, '--role', role, '--password-stdin', '--json'],
    `${password}\n`,
  );
  return printed(answer) as User;
}

/** A request with a JSON body: texts go out as they are. */
export function sendJson(
  url: string,
  method: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<HttpAnswer> {
  const options: HttpCall = { method, headers: { 'content-type': 'application/json', ...headers } };
  return call(url, { ...options, body: typeof body === 'string' ? body : JSON.stringify(body) });
}

export function login(
  server: SharedServer,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<HttpAnswer> {
  return sendJson(`${server.url}/api/v1/auth/login-handler`, 'POST', body, headers);
}

/** The session of a login's answer. */
export function sessionOf(server: SharedServer, answer: HttpAnswer): SignedIn {
  assert.equal(answer.status, 200, answer.text);
  const cookies = answer.headers['set-cookie'] ?? [];
  assert.equal(cookies.length, 1);
  const cookie = String(cookies[0]).split(';')[0] ?? '';
  const token = cookie.slice(cookie.indexOf('=') + 1);
  return { token, answer, ...withCookie(server, cookie) };
}

/** Requests with any cookie. */
export function withCookie(server: SharedServer, cookie: string): Pick<SignedIn, 'cookie' | 'get' | 'send'> {
  return {
    cookie,
    get: (path, headers = {}) => call(`${server.url}${path}`, { headers: { cookie, ...headers } }),
    send: (method, path, body = {}, headers = {}) =>
      sendJson(`${server.url}${path}`, method, body, { cookie, ...headers }),
  };
}

/** Signs in once the server knows the user. */
export function signIn(
  server: SharedServer,
  email: string,
  { organization, headers = {} }: { organization?: string; headers?: Record<string, string> } = {},
): Promise<SignedIn> {
  return eventually(`a login as ${email}`, async () => {
    const answer = await login(server, { email, password, organization }, headers);
    return answer.status === 401 ? undefined : sessionOf(server, answer);
  });
}

/** The JSON object of an answer with this status. */
export function jsonOf(answer: HttpAnswer, status = 200): Record<string, unknown> {
  assert.equal(answer.status, status, answer.text.slice(0, 500));
  return JSON.parse(answer.text) as Record<string, unknown>;
}

/** The list in `data` of a 200. */
export function listOf(answer: HttpAnswer): readonly Record<string, unknown>[] {
  return jsonOf(answer)['data'] as Record<string, unknown>[];
}
