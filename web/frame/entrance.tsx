import type { ComponentChildren } from 'preact';
import { t } from '../ui/text.ts';

interface EntranceProps {
  readonly title: string;
  readonly lead: string;
  readonly children: ComponentChildren;
}

/** The whole page of somebody who has no session yet. */
export function Entrance({ title, lead, children }: EntranceProps) {
  document.title = t('product');
  return (
    <main class="sign-in">
      <div>
        <span class="mark" aria-hidden="true" />
        <h1>{title}</h1>
        <p class="muted" role="status">
          {lead}
        </p>
        {children}
      </div>
    </main>
  );
}
