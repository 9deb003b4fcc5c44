import type { ComponentChildren } from 'preact';
import type { Resource } from '../api/resource.ts';
import { Failure } from './failure.tsx';
import { t } from './text.ts';

interface LoadedProps<T> {
  readonly resource: Resource<T>;
  readonly children: (data: T) => ComponentChildren;
}

/** What a resource has to show; above it what is the matter, where something is. Bars until the first answer. */
export function Loaded<T>({ resource, children }: LoadedProps<T>) {
  const data = resource.data.value;
  const error = resource.error.value;
  return (
    <>
      {error !== undefined && (
        <Failure error={error} retryAt={resource.retryAt.value} onRetry={() => resource.retry()} />
      )}
      {data !== undefined && children(data)}
      {data === undefined && error === undefined && (
        <span class="skeleton" role="status" aria-label={t('loading')} />
      )}
    </>
  );
}
