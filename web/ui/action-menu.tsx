import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { markedText } from './marked-text.ts';
import { Menu } from './menu.tsx';
import { t } from './text.ts';

interface Action {
  readonly words: string;
  /** Something ends by it. */
  readonly isDanger?: boolean;
  readonly onChoose: () => void;
}

interface ActionMenuProps {
  /** What the actions are for. */
  readonly name: string;
  readonly actions: readonly Action[];
  /** In place of three dots. */
  readonly button?: ComponentChildren;
  readonly class?: string;
  readonly align?: 'start' | 'end';
}

/** What can be done with a row, or a value. */
export function ActionMenu(props: ActionMenuProps) {
  const {
    name,
    actions,
    button = <Icon name="more" />,
    class: look = 'button icon-button quiet',
    align = 'end',
  } = props;
  if (actions.length === 0) return null;
  return (
    <Menu class={look} align={align} label={t('listActions', { name: markedText(name) })} button={button}>
      {(close) => (
        <ul class="action-menu">
          {actions.map(({ words, isDanger = false, onChoose }) => (
            <li key={words}>
              <Button
                look={`quiet ${isDanger ? 'fault' : ''}`}
                onClick={() => {
                  close();
                  onChoose();
                }}
              >
                {words}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </Menu>
  );
}
