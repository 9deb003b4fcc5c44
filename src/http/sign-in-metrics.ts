import { counter } from '../base/observability/metrics.ts';

export const signIns = counter(
  'auditlog_sign_ins_total',
  'Sign-ins by method (password, openid_connect) and outcome (ok, or the reason of the failure).',
  ['way', 'outcome'],
);
