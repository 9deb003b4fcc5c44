import type { Handler } from '../router.ts';

/** GET /healthz: the process is up (contract: Operations). */
export const healthHandler: Handler = () => ({ status: 200, body: '{"status":"ok"}' });
