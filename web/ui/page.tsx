import type { ComponentChildren } from 'preact';

interface PageProps {
  readonly class?: string;
  readonly title: string;
  readonly lead: string;
  readonly end?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A view of text, fields and tables; other views fill the screen. */
export function Page({ class: look = '', title, lead, end, children }: PageProps) {
  return (
    <div class={`page ${look}`}>
      <header class="page-head line">
        <div>
          <h1>{title}</h1>
          <p class="muted">{lead}</p>
        </div>
        {end}
      </header>
      {children}
    </div>
  );
}
