import type { ComponentChildren } from 'preact';
import type { Resource } from '../api/resource.ts';
import { FailureOf } from './failure.tsx';
import { t } from './text.ts';

interface LoadedProps<T> {
  readonly resource: Resource<T>;
  readonly children: (data: T) => ComponentChildren;
}

/** What a resource has to show; above it what is the matter, where something is. Bars until the first answer. */
export function Loaded<T>({ resource, children }: LoadedProps<T>) {
  const data = resource.data.value;
  return (
    <>
      <FailureOf resource={resource} />
      {data !== undefined && children(data)}
      {data === undefined && resource.error.value === undefined && (
        <span class="skeleton" role="status" aria-label={t('loading')} />
      )}
    </>
  );
}
