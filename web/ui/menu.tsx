import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface MenuProps {
  /** What is on the button. */
  readonly button: ComponentChildren;
  /** For screen readers, where the button has no words of its own. */
  readonly label: string;
  readonly class?: string;
  readonly align?: 'start' | 'end';
  /** What opens below; `close` closes it. */
  readonly children: (close: () => void) => ComponentChildren;
}

/** A button with a panel below it, which closes with Escape, a click elsewhere, or when the focus leaves it. */
export function Menu({ button, label, class: look = 'button', align = 'start', children }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const trigger = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    root.current?.querySelector<HTMLElement>('.menu-panel :is(a, button, input, select)')?.focus();
    const outside = (event: Event) => {
      if (event.target instanceof Node && !root.current?.contains(event.target)) setOpen(false);
    };
    addEventListener('pointerdown', outside);
    addEventListener('focusin', outside);
    return () => {
      removeEventListener('pointerdown', outside);
      removeEventListener('focusin', outside);
    };
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    trigger.current?.focus();
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
        ref={trigger}
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
        <div class={`menu-panel ${align}`} role="dialog" aria-label={label}>
          {children(close)}
        </div>
      )}
    </div>
  );
}
