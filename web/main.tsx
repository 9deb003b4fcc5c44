import './ui/tokens.css';
import './ui/base.css';
import './ui/parts.css';
import './frame/frame.css';
import { render } from 'preact';
import { loadSession } from './api/session.ts';
import { Frame } from './frame/frame.tsx';
import './ui/browser.ts';
import { place } from './ui/router.ts';
import { views } from './views.ts';

const root = document.getElementById('app');
if (root === null) throw new Error('the document has no element "app"');
if (location.pathname === '/docs') {
  void import('./docs/view.tsx').then(({ default: Docs }) => render(<Docs />, root));
} else {
  void loadSession();
  // On its way while the session is asked for; who shows it tells where it fails.
  (views.find(({ path }) => path === place.value.view) ?? views[0])?.load().catch(() => undefined);
  render(<Frame />, root);
}
