import type { Settings } from './storage.ts';

/**
 * Rewrites of the engine that are off in every statement, as they gave a wrong answer (README.md, Rewrites). The embedded
 * engine has them in its profile, too: for its mutations and for an operator's own queries.
 */
export const rewritesOff: Settings = {
  optimize_use_implicit_projections: 0,
};
