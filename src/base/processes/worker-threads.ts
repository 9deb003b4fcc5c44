/**
 * Arguments for worker threads. Run from its sources, a thread needs the TypeScript loader anew: threads do not inherit
 * module hooks.
 */
export function threadArguments(): string[] {
  if (!import.meta.url.endsWith('.ts')) return [];
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const code = `import{register}from${loader};register();`;
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}
