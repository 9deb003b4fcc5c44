import type { Settings } from './storage.ts';

/**
 * Rewrites of the engine that are off in every statement, as they gave wrong answers or errors (README.md, Rewrites). The
 * embedded engine has them in its profile, too: for its mutations and for an operator's own queries.
 */
export const rewritesOff: Settings = {
  optimize_use_implicit_projections: 0,
  use_query_condition_cache: 0,
  use_top_k_dynamic_filtering: 0,
};
