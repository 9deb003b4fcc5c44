import { useCallback, useEffect, useRef } from 'preact/hooks';
import { get } from '../api/request.ts';
import { Resource } from '../api/resource.ts';

/** The JSON of a path for as long as a view is shown; `reload` asks again, and keeps the old data until then. */
export function useResource<T>(path: string): {
  readonly resource: Resource<T>;
  readonly reload: () => void;
} {
  const resource = useRef(new Resource<T>()).current;
  const reload = useCallback(
    () => void resource.load((signal) => get<T>(path, {}, { signal })),
    [resource, path],
  );
  useEffect(() => {
    reload();
    return () => resource.stop();
  }, [resource, reload]);
  return { resource, reload };
}
