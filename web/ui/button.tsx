import type { ButtonHTMLAttributes } from 'preact';
import { useState } from 'preact/hooks';
import { announcement, t } from './text.ts';

type ButtonProps = ButtonHTMLAttributes & {
  readonly icon?: IconName | undefined;
  /** More classes of `.button`: `primary`, `quiet small`. */
  readonly look?: string | undefined;
};

/** A button that submits no form unless its `type` says so. */
export function Button({ look = '', icon, children, ...attributes }: ButtonProps) {
  return (
    <button type="button" class={`button ${look}`} {...attributes}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** Icons of 16 by 16, drawn in strokes of the text's colour. */
const paths = {
  check: 'M3.5 8.5 6.5 11.5 12.5 4.5',
  chevron: 'M4.5 6.5 8 10l3.5-3.5',
  clock: 'M8 4.5V8l2.5 1.5M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2Z',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M6 6h7v7H6zM10 6V3H3v7h3',
  down: 'M8 3.5v9M4.5 9 8 12.5 11.5 9',
  filter: 'M2.5 4h11M4.5 8h7M6.5 12h3',
  link: 'M6.5 9.5 9.5 6.5M7 4.5l1.2-1.2a2.9 2.9 0 0 1 4.1 4.1L11 8.7M9 11.5l-1.2 1.2a2.9 2.9 0 0 1-4.1-4.1L5 7.3',
  more: 'M3.200 8h.6M7.700 8h.6M12.200 8h.6',
  plus: 'M8 3.500v9M3.500 8h9',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.3 10.3l3.2 3.2',
  stream: 'M3 5.500c2-2 3.500 2 5 0s3-2 5 0M3 10.500c2-2 3.500 2 5 0s3-2 5 0',
  up: 'M8 12.5v-9M4.5 7 8 3.5 11.5 7',
  user: 'M8 2.5a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4ZM3 13.5c.5-2.3 2.4-3.6 5-3.6s4.500 1.300 5 3.600',
  warning: 'M8 2.5 14 13H2zM8 6.500v3M8 11.200v.1',
} as const;

export type IconName = keyof typeof paths;

/** Decoration beside words or a label; hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path
        d={paths[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

export function CloseButton({ onClick }: { readonly onClick: () => void }) {
  return <Button icon="close" look="icon-button quiet" aria-label={t('close')} onClick={onClick} />;
}

interface CopyButtonProps {
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
  const icon = isCopied ? 'check' : 'copy';
  return (
    <Button icon={icon} look="small" onClick={({ currentTarget }) => void copy(currentTarget)}>
      {isCopied ? t('copied') : label}
    </Button>
  );
}

/** `place` is where an element can have the focus: inside an open dialog, if there is one. */
export async function copyText(text: string, place: HTMLElement = document.body): Promise<void> {
  announcement.value = t('copied');
  // Browsers provide a clipboard only over TLS or on localhost, but copy a selection everywhere.
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
