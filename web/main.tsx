import './ui/tokens.css';
import './ui/base.css';
import './ui/parts.css';
import './ui/list.css';
import './frame/frame.css';
import { render } from 'preact';
import { loadSession } from './api/session.ts';
import { Frame } from './frame/frame.tsx';
import './ui/theme.ts';

const root = document.getElementById('app');
if (root === null) throw new Error('the document has no element "app"');
if (location.pathname === '/docs') {
  void import('./docs/view.tsx').then(({ default: Docs }) => render(<Docs />, root));
} else {
  render(<Frame />, root);
  void loadSession();
}
