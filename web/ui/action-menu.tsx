import { Icon } from './icon.tsx';
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
}

/** What can be done with a row, behind three dots. */
export function ActionMenu({ name, actions }: ActionMenuProps) {
  if (actions.length === 0) return null;
  return (
    <Menu
      class="icon-button quiet"
      align="end"
      label={t('listActions', { name })}
      button={<Icon name="more" />}
    >
      {(close) => (
        <ul class="action-menu">
          {actions.map(({ words, isDanger = false, onChoose }) => (
            <li key={words}>
              <button
                type="button"
                class={`button quiet ${isDanger ? 'fault' : ''}`}
                onClick={() => {
                  close();
                  onChoose();
                }}
              >
                {words}
              </button>
            </li>
          ))}
        </ul>
      )}
    </Menu>
  );
}
