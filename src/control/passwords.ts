import { hash, verify } from '@node-rs/argon2';
import { limits } from './limits.ts';
import { Problem } from '../base/errors/problem.ts';
import { WaitingLine } from '../base/waiting/waiting-line.ts';

/** argon2id (the library's default variant) with 19 MiB and two passes, OWASP's first recommendation. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

const passwordCharactersMin = 12;

/** Hash of no password: a check of an unknown user takes as long. A test compares its parameters. */
export const noPassword =
  '$argon2id$v=19$m=19456,t=2,p=1$Lx4cKZ3vJ1pQm0uVb7sT9A$q3Zc8YkN5r1UjW6hTtLx0aE2sVdG9mPoB4iKfR7uHwM';

/** Keyboards compose the same letters differently. */
function normalized(password: string): string {
  return password.normalize('NFKC');
}

/** Throws Problem `malformed` for an unacceptable password (contract: Credentials). */
export function checkPassword(password: string): void {
  if (Array.from(normalized(password)).length < passwordCharactersMin) {
    throw new Problem('malformed', `the password must have at least ${passwordCharactersMin} characters`);
  }
  if (Buffer.byteLength(normalized(password)) > limits.passwordBytesMax) {
    throw new Problem('malformed', `the password must have at most ${limits.passwordBytesMax} bytes`);
  }
}

/** The argon2id hash of an acceptable password, in PHC text. Throws Problem `malformed`. */
export async function hashPassword(password: string): Promise<string> {
  checkPassword(password);
  return hash(normalized(password), parameters);
}

/** Bounded: each takes 19 MiB and a thread that files and compression need, too. */
export class PasswordVerifier {
  readonly #line = new WaitingLine<void>({ refused: tooManyLogins });
  #free: number = limits.passwordChecksAtOnceMax;

  /**
   * True when the password has this hash; with undefined, for a user that does not exist, the same work and false.
   * Throws Problem `unavailable` when too many are waiting.
   */
  async verify(passwordHash: string | undefined, password: string): Promise<boolean> {
    if (this.#free > 0) this.#free -= 1;
    else if (this.#line.length >= limits.passwordChecksWaitingMax) throw tooManyLogins();
    else await this.#line.wait();
    try {
      const tooLong = Buffer.byteLength(password) > limits.passwordBytesMax;
      const matches = await verify(passwordHash ?? noPassword, tooLong ? '' : normalized(password));
      return matches && passwordHash !== undefined && !tooLong;
    } finally {
      // The next waiting check gets the slot.
      if (!this.#line.serve()) this.#free += 1;
    }
  }
}

function tooManyLogins(): Problem {
  return new Problem('unavailable', 'too many logins at once', { retryAfterSeconds: 1 });
}
