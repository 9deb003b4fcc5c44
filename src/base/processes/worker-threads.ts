/** Threads do not inherit module hooks: from the sources, each needs the TypeScript loader. */
export function threadArguments(): string[] {
  if (!import.meta.url.endsWith('.ts')) return [];
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const code = `import{register}from${loader};register();`;
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}
