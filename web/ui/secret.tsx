import type { ComponentChildren } from 'preact';
import { Button, CopyButton } from './button.tsx';
import { Dialog } from './dialog.tsx';

/** A text to be copied, whole and as it is. */
export function Secret({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <div class="secret">
      <div class="line">
        <strong>{label}</strong>
        <CopyButton text={() => text} />
      </div>
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
    </div>
  );
}

interface SecretDialogProps {
  readonly title: string;
  /** What is on the button that closes it: nothing else does, since nobody can show the secret again. */
  readonly close: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Shows secrets once. */
export function SecretDialog({ title, close, onClose, children }: SecretDialogProps) {
  return (
    <Dialog title={title}>
      <div class="form">
        {children}
        <div class="actions line">
          <Button look="primary" onClick={onClose}>
            {close}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
