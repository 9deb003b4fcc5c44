import './ui/tokens.css';
import './ui/base.css';
import './ui/parts.css';
import './frame/frame.css';
import { render } from 'preact';
import { loadSession, who } from './api/session.ts';
import { Frame } from './frame/frame.tsx';
import { place } from './ui/router.ts';
import { changeLanguage, language } from './ui/text.ts';
import { views } from './views.ts';

const root = document.getElementById('app');
if (root === null) throw new Error('the document has no element "app"');
const texts = changeLanguage(language.value);
if (location.pathname === '/docs') {
  void Promise.all([import('./docs/view.tsx'), texts]).then(([{ default: Docs }]) => render(<Docs />, root));
} else {
  // Loads in parallel with the session; the view that shows it reports a failure.
  const view = views.find(({ path }) => path === place.value.view) ?? views[0];
  const code = view?.load().catch(() => undefined);
  // Asking before the first drawing shows the first rows a fifth of a second earlier.
  void loadSession().then(async () => {
    const { begin } = (await code) ?? {};
    if (who.value !== undefined && view?.roles.includes(who.value.user.role)) begin?.();
  });
  void texts.then(() => render(<Frame />, root));
}
