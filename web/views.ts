import type { ComponentType } from 'preact';
import type { Role } from './api/types.ts';
import type { TextKey } from './ui/text.ts';

/** A view of the page; its code is loaded on first use. */
export interface View {
  /** First part of its address: `#/events`. */
  readonly path: string;
  readonly title: TextKey;
  readonly roles: readonly Role[];
  readonly load: () => Promise<{
    readonly default: ComponentType;
    /** Asks for the data of the view, before it is drawn. */
    readonly begin?: () => void;
  }>;
}

const admins: readonly Role[] = ['admin'];
const readers: readonly Role[] = ['admin', 'auditor'];
const all: readonly Role[] = ['admin', 'auditor', 'member'];

/** All views in navigation order; a user starts at the first that the role may see. */
export const views: readonly View[] = [
  { path: 'overview', title: 'overview', roles: readers, load: () => import('./overview/view.tsx') },
  { path: 'events', title: 'events', roles: readers, load: () => import('./events/view.tsx') },
  { path: 'receipts', title: 'receipts', roles: all, load: () => import('./receipts/view.tsx') },
  { path: 'api-keys', title: 'apiKeys', roles: admins, load: () => import('./api-keys/view.tsx') },
  { path: 'users', title: 'users', roles: admins, load: () => import('./users/view.tsx') },
  { path: 'settings', title: 'settings', roles: admins, load: () => import('./settings/view.tsx') },
];
