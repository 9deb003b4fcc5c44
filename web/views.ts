import type { ComponentType } from 'preact';
import type { Role } from './api/types.ts';
import type { TextKey } from './ui/text.ts';

/** A view of the page. Its code is loaded when it is first shown. */
export interface View {
  /** First part of its address: `#/events`. */
  readonly path: string;
  readonly title: TextKey;
  readonly roles: readonly Role[];
  readonly load: () => Promise<{ readonly default: ComponentType }>;
}

/** All views in the order of the navigation; the first that a role may see is where it begins. */
export const views: readonly View[] = [
  {
    path: 'overview',
    title: 'overview',
    roles: ['admin', 'auditor'],
    load: () => import('./overview/view.tsx'),
  },
  { path: 'events', title: 'events', roles: ['admin', 'auditor'], load: () => import('./events/view.tsx') },
  {
    path: 'receipts',
    title: 'receipts',
    roles: ['admin', 'auditor', 'member'],
    load: () => import('./receipts/view.tsx'),
  },
  { path: 'api-keys', title: 'apiKeys', roles: ['admin'], load: () => import('./api-keys/view.tsx') },
  { path: 'users', title: 'users', roles: ['admin'], load: () => import('./users/view.tsx') },
  { path: 'settings', title: 'settings', roles: ['admin'], load: () => import('./settings/view.tsx') },
];
