import { useState } from 'preact/hooks';
import { Icon } from './icon.tsx';
import { announcement, t } from './text.ts';

interface CopyButtonProps {
  /** What is copied, asked for at the click. */
  readonly text: () => string;
  readonly label?: string;
}

export function CopyButton({ text, label = t('copy') }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text());
    setCopied(true);
    announcement.value = t('copied');
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button type="button" class="button small" onClick={() => void copy()}>
      <Icon name={isCopied ? 'check' : 'copy'} />
      {isCopied ? t('copied') : label}
    </button>
  );
}
