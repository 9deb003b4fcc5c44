import type { ComponentChildren } from 'preact';
import icon from '../ui/icon.svg';
import { t } from '../ui/text.ts';

interface EntranceProps {
  readonly title: string;
  readonly lead: string;
  readonly children: ComponentChildren;
}

/** The page without a session. */
export function Entrance({ title, lead, children }: EntranceProps) {
  document.title = t('product');
  return (
    <main class="sign-in">
      <div>
        <img src={icon} alt="" width={32} height={32} />
        <div>
          <h1>{title}</h1>
          <p class="muted" role="status">
            {lead}
          </p>
        </div>
        {children}
      </div>
    </main>
  );
}
