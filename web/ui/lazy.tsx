import type { ComponentType } from 'preact';
import { RequestError } from '../api/request.ts';
import { Loaded, useResource } from './resource.tsx';

/** Code that comes with its first use. Rejects with RequestError. */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    throw new RequestError('offline', { detail: 'The code of this part could not be loaded.' });
  }
}

/** A component whose code is loaded when it is first shown. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  return (props) => {
    const { resource } = useResource(() => loadPart(load), []);
    return <Loaded resource={resource}>{(Part) => <Part {...props} />}</Loaded>;
  };
}
