import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

interface OpenedProps {
  readonly class?: string;
  readonly summary: ComponentChildren;
  readonly children: () => ComponentChildren;
}

export function Opened({ class: look, summary, children }: OpenedProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class={look} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && children()}
    </details>
  );
}
