import './view.css';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { send } from '../api/request.ts';
import { loadSession } from '../api/session.ts';
import type { Settings } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { Fault } from '../ui/fault.tsx';
import { wordsOf } from '../ui/form-dialog.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { NameField } from '../ui/name-field.tsx';
import { formatNumber } from '../ui/number.ts';
import { Options } from '../ui/options.tsx';
import { Page } from '../ui/page.tsx';
import { useSubmission, type Fields } from '../ui/submission.ts';
import { announcement, t } from '../ui/text.ts';
import { useResource } from '../ui/use-resource.ts';

/** What holds for the whole organization. */
export default function SettingsView() {
  const { resource, reload } = useResource<Settings>('/api/v1/portal/settings');
  const change = async (settings: Partial<Settings>) => {
    await send<Settings>('PATCH', '/api/v1/portal/settings', settings);
    reload();
    announcement.value = t('saved');
  };
  return (
    <Page class="settings" title={t('settings')} lead={t('settingsLead')}>
      <Loaded resource={resource}>
        {(settings) => (
          <>
            <Section title={t('organization')} lead={t('settingsOrganizationLead')}>
              <Names
                settings={settings}
                onSave={async (name) => {
                  await change({ name });
                  // The bar and the title show it.
                  await loadSession();
                }}
              />
            </Section>
            <Section title={t('receipts')} lead={t('settingsReceiptsLead')}>
              <Receipts settings={settings} onSave={(receipts) => change({ receipts })} />
            </Section>
            <Section title={t('settingsRetention')} lead={t('settingsRetentionLead')}>
              <Retention settings={settings} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

interface SectionProps {
  readonly title: string;
  readonly lead: string;
  readonly children: ComponentChildren;
}

function Section({ title, lead, children }: SectionProps) {
  return (
    <section>
      <div>
        <h2>{title}</h2>
        <p class="muted">{lead}</p>
      </div>
      <div>{children}</div>
    </section>
  );
}

interface SavedFormProps {
  readonly task: (fields: Fields) => Promise<void>;
  readonly children: ComponentChildren;
}

/** A form on the page itself, which says when it has been saved. */
function SavedForm({ task, children }: SavedFormProps) {
  const [isSaved, setSaved] = useState(false);
  const { error, isBusy, onSubmit } = useSubmission(async (field) => {
    await task(field);
    setSaved(true);
  });
  return (
    <form class="form" onSubmit={onSubmit} onInput={() => setSaved(false)}>
      {children}
      <Fault>{error && wordsOf(error)}</Fault>
      <div class="line">
        <Button type="submit" disabled={isBusy}>
          {t('save')}
        </Button>
        {isSaved && <span class="muted">{t('saved')}</span>}
      </div>
    </form>
  );
}

interface NamesProps {
  readonly settings: Settings;
  readonly onSave: (name: string) => Promise<void>;
}

function Names({ settings: { name, slug, id }, onSave }: NamesProps) {
  return (
    <>
      <SavedForm task={(field) => onSave(field('name').trim())}>
        <NameField value={name} />
      </SavedForm>
      <dl>
        <Copied name={t('settingsSlug')} value={slug} />
        <Copied name={t('settingsId')} value={id} />
      </dl>
    </>
  );
}

function Copied({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div class="line">
      <dt>{name}</dt>
      <dd class="line">
        <span class="mono">{value}</span> <CopyButton text={() => value} />
      </dd>
    </div>
  );
}

interface ReceiptsProps {
  readonly settings: Settings;
  readonly onSave: (receipts: Settings['receipts']) => Promise<void>;
}

const policies = [
  ['own', 'settingsReceiptsOwn', 'settingsReceiptsOwnMeans'],
  ['off', 'settingsReceiptsOff', 'settingsReceiptsOffMeans'],
] as const;

function Receipts({ settings: { receipts }, onSave }: ReceiptsProps) {
  return (
    <SavedForm task={(field) => onSave(field('receipts') === 'off' ? 'off' : 'own')}>
      <Options
        label={t('settingsReceiptsWho')}
        name="receipts"
        type="radio"
        options={policies.map(([value, words, note]) => ({ value, words: t(words), note: t(note) }))}
        isChosen={(policy) => policy === receipts}
      />
    </SavedForm>
  );
}

function Retention({ settings }: { readonly settings: Settings }) {
  const { retention, retention_days: days } = settings;
  return (
    <div class="retention">
      <p>
        <strong>
          {days === undefined
            ? t('settingsRetentionForever')
            : t('settingsRetentionDays', { n: formatNumber(days) })}
        </strong>{' '}
        <span class="badge">
          {t(retention === 'default' ? 'settingsRetentionDefault' : 'settingsRetentionOwn')}
        </span>
      </p>
      <p class="muted">
        {days === undefined
          ? t('settingsRetentionForeverMeans')
          : t('settingsRetentionMeans', { n: formatNumber(days) })}
      </p>
      <p class="muted">{t('settingsRetentionHow')}</p>
    </div>
  );
}
