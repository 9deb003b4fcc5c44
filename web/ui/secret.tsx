import { CopyButton } from './copy-button.tsx';

interface SecretProps {
  readonly label: string;
  readonly text: string;
}

/** A text to be copied, whole and as it is. */
export function Secret({ label, text }: SecretProps) {
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
