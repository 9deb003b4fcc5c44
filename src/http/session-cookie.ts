import type { RequestContext } from './request-context.ts';

/** Cookies of the service's name that are looked at in one request. */
const sessionCookiesMax = 8;

/** The session cookie (contract: Authentication, Sessions): named after the service, out of reach of scripts. */
export class SessionCookie {
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  /**
   * The different values that were sent under this name, in their order, at most `sessionCookiesMax`: another
   * host of the same domain can add some to what the browser sends.
   */
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

  /** A `Set-Cookie` value that lives so long from when it arrives. */
  set(context: RequestContext, token: string, maxAgeSeconds: number): string {
    const secure = context.head.secure ? '; Secure' : '';
    return `${this.#name}=${token}; Path=/; HttpOnly; SameSite=Lax${secure}; Max-Age=${maxAgeSeconds}`;
  }

  /** A `Set-Cookie` value that takes the cookie away. */
  clear(context: RequestContext): string {
    return this.set(context, '', 0);
  }
}

/**
 * The cookie of a sign-in at a provider between its start and its end. Over TLS its name keeps other hosts of the same domain
 * from setting it (`__Host-`), so nobody can finish a sign-in of his own in another's browser.
 */
export function attemptCookie(serviceName: string, { head }: RequestContext): SessionCookie {
  return new SessionCookie(`${head.secure ? '__Host-' : ''}${serviceName}-sign-on`);
}
