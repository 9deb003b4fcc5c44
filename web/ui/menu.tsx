import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { Button, Icon, type IconName } from './button.tsx';
import { markedText } from './marked.tsx';
import { t } from './text.ts';

interface MenuProps {
  readonly button: ComponentChildren;
  /** Drawn before the words; an arrow then follows them. */
  readonly icon?: IconName;
  /** For screen readers, if the button has no words. */
  readonly label: string;
  readonly class?: string | undefined;
  /** The panel's content; `close` closes it. */
  readonly children: (close: () => void) => ComponentChildren;
}

/** A button with a panel that the browser opens, places and closes. */
export function Menu({ button, icon, label, class: look = 'button', children }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const panel = useRef<HTMLDivElement>(null);
  const id = useId();
  return (
    <div
      class="menu"
      // Escape closes only this.
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
        {icon && <Icon name={icon} />}
        {button}
        {icon && <Icon name="chevron" />}
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
  readonly isDanger?: boolean;
  readonly onChoose: () => void;
}

interface ActionMenuProps extends Partial<Omit<MenuProps, 'label' | 'children'>> {
  readonly name: string;
  readonly actions: readonly Action[];
}

/** Actions for a row (three dots), or for a value that is itself the button. */
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
