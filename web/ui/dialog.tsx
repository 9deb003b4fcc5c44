import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { CloseButton } from './button.tsx';

interface DialogProps {
  readonly title: string;
  /** Undefined: it cannot be closed before a decision. */
  readonly onClose?: (() => void) | undefined;
  readonly children: ComponentChildren;
}

/** A modal dialog; the browser keeps the focus inside and restores it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      // Browsers restore it only for a dialog that stays in the document.
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class="dialog over"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      <header class="line">
        <h2 id={id}>{title}</h2>
        {onClose && <CloseButton onClick={onClose} />}
      </header>
      {children}
    </dialog>
  );
}
