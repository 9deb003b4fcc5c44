import type { SessionHandler } from '../endpoint.ts';
import { jsonReply } from '../response.ts';

/** GET /api/v1/auth/token: the token of the session in the cookie (contract: Sessions). */
export const tokenHandler: SessionHandler = (_, { token }) => jsonReply(200, 'Token', { token });
