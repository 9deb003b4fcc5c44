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
  const view = views.find(({ path }) => path === place.value.view) ?? views[0];
  let begin: (() => void) | undefined;
  // Drawing takes longer than asking, so the first rows are asked for before anything is drawn.
  const beginOnce = () => {
    if (who.value === undefined || view?.roles.includes(who.value.user.role) !== true) return;
    begin?.();
    begin = undefined;
  };
  who.subscribe(beginOnce);
  // The view that shows the code reports its failure.
  const code = view?.load().catch(() => undefined);
  void code?.then((module) => {
    begin = module?.begin;
    beginOnce();
  });
  void loadSession();
  void texts.then(() => render(<Frame />, root));
}
