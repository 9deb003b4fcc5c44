import type { ComponentChildren } from 'preact';
import type { RequestError } from '../api/request.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Fault } from './fault.tsx';
import { type Fields, useSubmission } from './submission.ts';
import { t } from './text.ts';

interface FormDialogProps {
  readonly title: string;
  /** What is on the button that sends it. */
  readonly submit: string;
  /** Something ends by it. */
  readonly isDanger?: boolean;
  /** False while it cannot be sent. */
  readonly isReady?: boolean;
  readonly task: (fields: Fields) => Promise<void>;
  readonly onClose: () => void;
  /** The fields; `error` is why the last try failed, for one that marks a field by it. */
  readonly children: ComponentChildren | ((error: RequestError | undefined) => ComponentChildren);
  /** An error that the fields show themselves. */
  readonly isShown?: (error: RequestError) => boolean;
}

/** A question with fields: it is sent once at a time, and stays with what was typed where that fails. */
export function FormDialog(props: FormDialogProps) {
  const { title, submit, isDanger = false, isReady = true, task, onClose, children, isShown } = props;
  const { error, isBusy, onSubmit } = useSubmission(task);
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="form" onSubmit={onSubmit}>
        {typeof children === 'function' ? children(error) : children}
        <Fault>{error !== undefined && isShown?.(error) !== true && wordsOf(error)}</Fault>
        <div class="actions">
          <Button onClick={onClose}>{t('cancel')}</Button>
          <Button type="submit" look={isDanger ? 'danger' : 'primary'} disabled={isBusy || !isReady}>
            {submit}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Why a form could not be sent, in words. */
export function wordsOf(error: RequestError): string {
  if (error.kind === 'offline') return t('frameOffline');
  if (error.status === 429) return t('signInTooOften', { seconds: error.retryAfterSeconds ?? 60 });
  return t('frameRefused', { detail: error.message });
}
