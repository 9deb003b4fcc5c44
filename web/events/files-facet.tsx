import { useState } from 'preact/hooks';
import { get } from '../api/request.ts';
import type { TopFiles } from '../api/types.ts';
import { formatBytes } from '../ui/format.ts';
import { Loaded, useResource } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { FacetList, seenWords } from './facet-list.tsx';
import { limits } from './limits.ts';
import { model } from './model.ts';

/** Files with their bytes. Loaded when opened: the server reads the text of all events for it. */
export function FilesFacet() {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <h2>{t('eventsFiles')}</h2>
      </summary>
      {isOpen && <Files />}
    </details>
  );
}

function Files() {
  const parameters = { ...model.asked.value, limit: limits.topValues };
  const { resource } = useResource<TopFiles>(
    (signal) => get('/api/v1/portal/top-files', parameters, { signal }),
    [model.asked.value],
  );
  return (
    <Loaded resource={resource}>
      {({ data }) =>
        data.length === 0 ? (
          <p class="muted">{t('eventsFilesNone')}</p>
        ) : (
          <FacetList
            name="fileName"
            values={data.map(({ name, count, bytes, ...seen }) => ({
              value: name,
              words: name,
              count,
              note: seenWords(seen),
              sum: formatBytes(bytes),
            }))}
          />
        )
      }
    </Loaded>
  );
}
