import { stored } from './stored.ts';

/** `system` follows the system's setting. */
export const theme = stored('auditlog.theme', ['system', 'light', 'dark']);

theme.subscribe((value) => {
  const { dataset } = document.documentElement;
  if (value === 'system') delete dataset['theme'];
  else dataset['theme'] = value;
});
