import { useState } from 'preact/hooks';
import { Button, Icon } from '../ui/button.tsx';
import { lazy } from '../ui/lazy.tsx';
import { t } from '../ui/text.ts';
import type { EventList } from './event-list.ts';
import { model } from './model.ts';

const dialogs = {
  export: lazy(async () => (await import('./export-dialog.tsx')).ExportDialog),
  case: lazy(async () => (await import('./export-dialog.tsx')).CaseDialog),
};

/** Takes all events of the view away, as a file or with their proofs; `list` is undefined if there is nothing. */
export function ExportButtons({ list }: { readonly list: EventList | undefined }) {
  const [open, setOpen] = useState<{ readonly list: EventList; readonly dialog: keyof typeof dialogs }>();
  const isReady = list !== undefined && list.total > 0 && !model.list.isLoading.value;
  const button = (dialog: keyof typeof dialogs, icon: 'down' | 'check') => (
    <Button look="export" disabled={!isReady} onClick={() => list && setOpen({ list, dialog })}>
      <Icon name={icon} />
      <span class="roomy">{t(dialog === 'case' ? 'eventsCase' : 'eventsExport')}</span>
    </Button>
  );
  const Dialog = open && dialogs[open.dialog];
  return (
    <>
      {button('export', 'down')}
      {button('case', 'check')}
      {/* Going back to another query closes it. */}
      {Dialog && open.list === list && <Dialog list={list} onClose={() => setOpen(undefined)} />}
    </>
  );
}
