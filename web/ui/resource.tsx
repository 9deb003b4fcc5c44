import type { ComponentChildren, ComponentType } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { get, getText, RequestError } from '../api/request.ts';
import { Resource } from '../api/resource.ts';
import { Button, Icon } from './button.tsx';
import { t, type TextKey } from './text.ts';

/** The answer to a question, or the JSON of a path; `reload` keeps the old data until the new answer. */
export function useResource<T>(
  question: string | ((signal: AbortSignal) => Promise<T>),
  inputs: readonly unknown[] = [question],
): { readonly resource: Resource<T>; readonly reload: () => void } {
  const resource = useRef(new Resource<T>()).current;
  const reload = useCallback(
    () =>
      void resource.load(
        typeof question === 'string' ? (signal) => get<T>(question, {}, { signal }) : question,
      ),
    [resource, ...inputs],
  );
  // Before layout: the server needs the time as well.
  useLayoutEffect(() => {
    reload();
    return () => resource.stop();
  }, [resource, reload]);
  return { resource, reload };
}

interface LoadedProps<T> {
  readonly resource: Resource<T>;
  /** Beside other parts of the view: a short failure, which replaces the data. */
  readonly isSmall?: boolean;
  readonly children: (data: T) => ComponentChildren;
}

/** The data of a resource, below its failure if it has one. */
export function Loaded<T>({ resource, isSmall = false, children }: LoadedProps<T>) {
  const hasFailed = resource.error.value !== undefined;
  const data = isSmall && hasFailed ? undefined : resource.data.value;
  return (
    <>
      <FailureOf resource={resource} isSmall={isSmall} />
      {data !== undefined && children(data)}
      {data === undefined && !hasFailed && <span class="skeleton" role="status" aria-label={t('loading')} />}
    </>
  );
}

/** Code that comes with its first use. Browsers do not retry a module that failed to load. Rejects with RequestError. */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    await getText('/healthz', {});
    throw new RequestError('lost', { detail: 'The code of this part could not be loaded.' });
  }
}

export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  return (props) => {
    const { resource } = useResource(() => loadPart(load), []);
    return <Loaded resource={resource}>{(Part) => <Part {...props} />}</Loaded>;
  };
}

/** A placeholder bar; `at` varies its length. */
export function Skeleton({ at }: { readonly at: number }) {
  return <span class="skeleton" style={{ width: `${40 + ((at * 7) % 50)}%` }} />;
}

interface FailureProps {
  readonly resource: Resource<unknown>;
  /** Beside other failures of the same view: only the largest is announced. */
  readonly isSmall?: boolean;
}

export function FailureOf({ resource, isSmall = false }: FailureProps) {
  const error = resource.error.value;
  if (error === undefined) return null;
  const { value: retryAt } = resource.retryAt;
  const { request_id: id } = error.problem;
  const kind = error.status === 429 ? 'limit' : error.kind;
  const isLost = kind === 'lost';
  return (
    <div class={`failure ${isSmall ? 'fine' : ''}`} role={isSmall ? 'status' : 'alert'}>
      <Icon name="warning" />
      <div>
        <p>
          {t(`failure_${kind}`, { detail: error.message })}{' '}
          {retryAt !== undefined && <Countdown text="frameRetryIn" until={retryAt} />}
        </p>
        {id !== undefined && <p class="muted">{t('frameReference', { id })}</p>}
      </div>
      <Button look="small" onClick={() => (isLost ? location.reload() : resource.retry())}>
        {t(isLost ? 'reload' : 'retryNow')}
      </Button>
    </div>
  );
}

interface CountdownProps {
  /** A text with `{seconds}` in it. */
  readonly text: TextKey;
  /** Unix milliseconds. */
  readonly until: number;
  readonly values?: Readonly<Record<string, string | number>>;
}

const secondsTo = (until: number): number => Math.max(1, Math.ceil((until - Date.now()) / 1000));

export function Countdown({ text, until, values = {} }: CountdownProps) {
  const [seconds, setSeconds] = useState(secondsTo(until));
  useEffect(() => {
    setSeconds(secondsTo(until));
    const timer = setInterval(() => setSeconds(secondsTo(until)), 250);
    return () => clearInterval(timer);
  }, [until]);
  return <>{t(text, { ...values, seconds })}</>;
}
