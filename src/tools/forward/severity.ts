import type { ForwardedEvent } from './batch.ts';

/** `severity_id` of either schema; default 1 (Informational). */
export function severityOf({ text }: ForwardedEvent): number {
  const { severity_id: id } = JSON.parse(text) as { readonly severity_id?: unknown };
  return typeof id === 'number' ? id : 1;
}
