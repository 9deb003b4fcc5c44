import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { Button, Icon } from './button.tsx';
import { markedText } from './marked.tsx';
import { t } from './text.ts';

interface MenuProps {
  /** What is on the button. */
  readonly button: ComponentChildren;
  /** For screen readers, where the button has no words of its own. */
  readonly label: string;
  readonly class?: string | undefined;
  /** What opens beside it; `close` closes it. */
  readonly children: (close: () => void) => ComponentChildren;
}

/** A button with a panel, which the browser opens, places and closes. */
export function Menu({ button, label, class: look = 'button', children }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const panel = useRef<HTMLDivElement>(null);
  const id = useId();
  return (
    <div
      class="menu"
      // The key closes this alone.
      onKeyDown={(event) => isOpen && event.key === 'Escape' && event.stopPropagation()}
    >
      <button
        type="button"
        class={look}
        popovertarget={id}
        aria-haspopup="dialog"
        aria-label={label}
        title={label}
      >
        {button}
      </button>
      <div
        ref={panel}
        id={id}
        popover
        class="menu-panel over"
        role="dialog"
        aria-label={label}
        onBeforeToggle={({ newState }) => setOpen(newState === 'open')}
      >
        {isOpen && children(() => panel.current?.hidePopover())}
      </div>
    </div>
  );
}

export interface Action {
  readonly words: string;
  /** Something ends by it. */
  readonly isDanger?: boolean;
  readonly onChoose: () => void;
}

interface ActionMenuProps extends Partial<Omit<MenuProps, 'label' | 'children'>> {
  /** What the actions are for. */
  readonly name: string;
  readonly actions: readonly Action[];
}

/** What can be done with a row, behind three dots, or with a value that is the button itself. */
export function ActionMenu({ name, actions, ...menu }: ActionMenuProps) {
  if (actions.length === 0) return null;
  const dots = { class: 'button icon-button quiet', button: <Icon name="more" /> };
  return (
    <Menu {...dots} {...menu} label={t('listActions', { name: markedText(name) })}>
      {(close) => (
        <ul>
          {actions.map(({ words, isDanger = false, onChoose }) => (
            <li key={words}>
              <Button
                look={`quiet ${isDanger ? 'fault' : ''}`}
                onClick={() => {
                  close();
                  onChoose();
                }}
              >
                {words}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </Menu>
  );
}
