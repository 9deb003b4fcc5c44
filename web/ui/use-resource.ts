import { useCallback, useEffect, useRef } from 'preact/hooks';
import { get } from '../api/request.ts';
import { Resource } from '../api/resource.ts';

/**
 * The answer to a question, or the JSON of a path, for as long as a view is shown: asked anew where `inputs` change.
 * `reload` asks again, and keeps the old data until then.
 */
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
  useEffect(() => {
    reload();
    return () => resource.stop();
  }, [resource, reload]);
  return { resource, reload };
}
