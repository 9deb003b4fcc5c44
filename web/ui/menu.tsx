import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button, Icon } from './button.tsx';
import { markedText } from './marked.tsx';
import { t } from './text.ts';

interface MenuProps {
  /** What is on the button. */
  readonly button: ComponentChildren;
  /** For screen readers, where the button has no words of its own. */
  readonly label: string;
  readonly class?: string | undefined;
  readonly align?: 'start' | 'end';
  /** What opens below; `close` closes it. */
  readonly children: (close: () => void) => ComponentChildren;
}

/** A button with a panel below it, which closes with Escape, a click elsewhere, or when the focus leaves it. */
export function Menu({ button, label, class: look = 'button', align = 'start', children }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    root.current?.querySelector<HTMLElement>('.menu-panel :is(a, button, input, select)')?.focus();
    const outside = (event: Event) => {
      if (event.target instanceof Node && !root.current?.contains(event.target)) setOpen(false);
    };
    const watching = new AbortController();
    for (const event of ['pointerdown', 'focusin'])
      addEventListener(event, outside, { signal: watching.signal });
    return () => watching.abort();
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    root.current?.querySelector('button')?.focus();
  };
  return (
    <div
      ref={root}
      class="menu"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen) return;
        event.stopPropagation();
        close();
      }}
    >
      <button
        type="button"
        class={look}
        aria-expanded={isOpen}
        aria-haspopup="dialog"
        aria-label={label}
        title={label}
        onClick={() => setOpen(!isOpen)}
      >
        {button}
      </button>
      {isOpen && (
        <div class={`menu-panel over ${align}`} role="dialog" aria-label={label}>
          {children(close)}
        </div>
      )}
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
  const dots = { class: 'button icon-button quiet', align: 'end' as const, button: <Icon name="more" /> };
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
