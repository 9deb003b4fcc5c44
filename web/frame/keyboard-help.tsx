import { useState } from 'preact/hooks';
import { useKey } from '../ui/browser.ts';
import { Dialog } from '../ui/dialog.tsx';
import { t, type TextKey } from '../ui/text.ts';

/** Keys beyond those that browsers define. */
const keys: readonly (readonly [keys: readonly string[], does: TextKey])[] = [
  [['/'], 'keysFilter'],
  [['↑', '↓', 'Page ↑', 'Page ↓', 'Home', 'End'], 'keysRows'],
  [['Enter'], 'keysOpen'],
  [['f'], 'keysFollow'],
  [['Esc'], 'keysClose'],
  [['←', '→'], 'keysBars'],
  [['Shift', 'Enter'], 'keysZoom'],
  [['?'], 'keysHelp'],
];

export function KeyboardHelp() {
  const [isOpen, setOpen] = useState(false);
  useKey('?', () => setOpen(true));
  if (!isOpen) return null;
  return (
    <Dialog title={t('keys')} onClose={() => setOpen(false)}>
      <dl class="keys">
        {keys.map(([names, does]) => (
          <div key={does} class="line">
            <dt class="line">
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{t(does)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
