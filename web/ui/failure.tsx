import { RequestError } from '../api/request.ts';
import type { Resource } from '../api/resource.ts';
import { Button } from './button.tsx';
import { Countdown } from './countdown.tsx';
import { Icon } from './icon.tsx';
import { t } from './text.ts';

interface FailureProps {
  readonly error: Error;
  /** Unix milliseconds of the next try, where there is one. */
  readonly retryAt?: number | undefined;
  readonly onRetry?: () => void;
}

/** In place of what could not be had: what is the matter, and what happens next. */
export function Failure({ error, retryAt, onRetry }: FailureProps) {
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <div>
        <p>
          {wordsOf(error)} {retryAt !== undefined && <Countdown text="frameRetryIn" until={retryAt} />}
        </p>
        {error instanceof RequestError && error.requestId !== undefined && (
          <p class="muted">{t('frameReference', { id: error.requestId })}</p>
        )}
      </div>
      {onRetry && (
        <Button look="small" onClick={onRetry}>
          {t('retryNow')}
        </Button>
      )}
    </div>
  );
}

/** What is the matter with what a view asks for; nothing while nothing is. */
export function FailureOf({ resource }: { readonly resource: Resource<unknown> }) {
  const error = resource.error.value;
  if (error === undefined) return null;
  return <Failure error={error} retryAt={resource.retryAt.value} onRetry={() => resource.retry()} />;
}

function wordsOf(error: Error): string {
  if (!(error instanceof RequestError)) return t('frameOffline');
  switch (error.kind) {
    case 'offline':
      return t('frameOffline');
    case 'unavailable':
      return t('frameUnavailable');
    case 'refused':
      return t('frameRefused', { detail: error.message });
    default:
      return error.kind satisfies never;
  }
}
