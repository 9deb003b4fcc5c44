import type { Settings } from './storage.ts';

/**
 * They gave wrong answers or errors (README.md, Rewrites). Off in every statement, and in the profile of the embedded engine for
 * mutations and operators' queries.
 */
export const rewritesOff: Settings = {
  optimize_use_implicit_projections: 0,
  use_query_condition_cache: 0,
  use_top_k_dynamic_filtering: 0,
};
