import { CopyButton } from './button.tsx';

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
