import { counter } from '../base/observability/metrics.ts';

/** Sign-ins by their way and what became of them. */
export const signIns = counter(
  'auditlog_sign_ins_total',
  'Sign-ins of people by their way (password, openid_connect) and outcome (ok, or why not).',
  ['way', 'outcome'],
);
