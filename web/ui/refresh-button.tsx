import type { Resource } from '../api/resource.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { t } from './text.ts';

interface RefreshButtonProps {
  readonly resource: Resource<unknown>;
  readonly onClick: () => void;
}

/** Asks again for what a view shows. */
export function RefreshButton({ resource, onClick }: RefreshButtonProps) {
  return (
    <Button disabled={resource.isLoading.value} onClick={onClick}>
      <Icon name="refresh" />
      <span class="roomy">{t('refresh')}</span>
    </Button>
  );
}
