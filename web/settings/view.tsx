import './view.css';
import type { ComponentChildren } from 'preact';
import { send } from '../api/request.ts';
import { loadSession } from '../api/session.ts';
import type { Settings } from '../api/types.ts';
import { Form, NameField, Options } from '../ui/forms.tsx';
import { Page } from '../ui/page.tsx';
import { Loaded, useResource } from '../ui/resource.tsx';
import { Secret } from '../ui/secret.tsx';
import { announcement, t } from '../ui/text.ts';

export default function SettingsView() {
  const { resource, reload } = useResource<Settings>('/api/v1/portal/settings');
  const change = async (settings: Partial<Settings>) => {
    await send<Settings>('PATCH', '/api/v1/portal/settings', settings);
    reload();
    announcement.value = t('saved');
  };
  const rename = async (name: string) => {
    await change({ name });
    // The bar and the title show it.
    await loadSession();
  };
  return (
    <Page class="settings" title={t('settings')} lead={t('settingsLead')}>
      <Loaded resource={resource}>
        {(settings) => (
          <>
            <Section title={t('organization')} lead={t('settingsOrganizationLead')}>
              <Form task={(field) => rename(field('name').trim())} {...saving()}>
                <NameField value={settings.name} />
              </Form>
              <Secret label={t('settingsSlug')} text={settings.slug} />
              <Secret label={t('settingsId')} text={settings.id} />
            </Section>
            <Section title={t('receipts')} lead={t('settingsReceiptsLead')}>
              <Form
                task={(field) => change({ receipts: field('receipts') === 'off' ? 'off' : 'own' })}
                {...saving()}
              >
                <Options
                  label={t('settingsReceiptsWho')}
                  name="receipts"
                  type="radio"
                  options={policies.map((one) => [one, t(`policy_${one}`), t(`policy_${one}_means`)])}
                  chosen={settings.receipts}
                />
              </Form>
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

const policies = ['own', 'off'] as const;

const saving = () => ({ submit: t('save'), look: '', done: t('saved') });

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
      <div class="form">{children}</div>
    </section>
  );
}

function Retention({ settings }: { readonly settings: Settings }) {
  const { retention, retention_days: days, planned_removal: removal } = settings;
  const n = days ?? 0;
  const [words, meaning] =
    days === undefined
      ? [t('settingsRetentionForever'), t('settingsRetentionForeverMeans')]
      : [t('settingsRetentionDays', { n }), t('settingsRetentionMeans', { n })];
  return (
    <div class="retention stack">
      <p>
        <strong>{words}</strong>{' '}
        <span class="badge">
          {t(retention === 'default' ? 'settingsRetentionDefault' : 'settingsRetentionOwn')}
        </span>
      </p>
      <p class="muted">{meaning}</p>
      {removal !== undefined && (
        <p>{t('settingsRemoval', { n: removal.events, hours: Math.ceil(removal.in_seconds / 3600) })}</p>
      )}
      <p class="muted">{t('settingsRetentionHow')}</p>
    </div>
  );
}
