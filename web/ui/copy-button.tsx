import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { announcement, t } from './text.ts';

interface CopyButtonProps {
  /** What is copied, asked for at the click. */
  readonly text: () => string;
  readonly label?: string;
}

export function CopyButton({ text, label = t('copy') }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (button: HTMLElement) => {
    await copyText(text(), button.closest('dialog') ?? document.body);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <Button look="small" onClick={({ currentTarget }) => void copy(currentTarget)}>
      <Icon name={isCopied ? 'check' : 'copy'} />
      {isCopied ? t('copied') : label}
    </Button>
  );
}

/** `place` is where an element can have the focus: in an open dialog, only in that. */
export async function copyText(text: string, place: HTMLElement = document.body): Promise<void> {
  announcement.value = t('copied');
  // Browsers give pages a clipboard only over TLS or from their own machine; a selection they copy everywhere.
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard !== undefined) return clipboard.writeText(text);
  const before = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  place.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
  if (before instanceof HTMLElement) before.focus();
}
