import type { RequestContext } from './request-context.ts';

/** Another host of the same domain can add cookies. */
const sessionCookiesMax = 8;

/** The session cookie (contract: Authentication, Sessions): named after the service, hidden from scripts. */
export class SessionCookie {
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  read(context: RequestContext): readonly string[] {
    const values = new Set<string>();
    for (const pair of (context.header('cookie') ?? '').split(';')) {
      const equals = pair.indexOf('=');
      if (equals < 0 || pair.slice(0, equals).trim() !== this.#name) continue;
      values.add(pair.slice(equals + 1).trim());
      if (values.size === sessionCookiesMax) break;
    }
    return [...values];
  }

  set(context: RequestContext, token: string, maxAgeSeconds: number): string {
    const secure = context.head.secure ? '; Secure' : '';
    return `${this.#name}=${token}; Path=/; HttpOnly; SameSite=Lax${secure}; Max-Age=${maxAgeSeconds}`;
  }

  clear(context: RequestContext): string {
    return this.set(context, '', 0);
  }
}

/** With `__Host-` no other host of the domain can set it, so an attacker cannot finish a sign-in in another's browser. */
export function attemptCookie(serviceName: string, { head }: RequestContext): SessionCookie {
  return new SessionCookie(`${head.secure ? '__Host-' : ''}${serviceName}-sign-on`);
}
