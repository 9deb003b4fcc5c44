import type { ComponentChildren } from 'preact';

/** What is wrong, said to screen readers at once; nothing while nothing is. */
export function Fault({ children }: { readonly children: ComponentChildren }) {
  if (children === undefined || children === false) return null;
  return (
    <p class="fault" role="alert">
      {children}
    </p>
  );
}
