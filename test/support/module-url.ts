/** The URL of a module by its path from the file `from`, a URL: `.ts` where that is a source, `.js` where it is compiled. */
export function moduleUrl(path: string, from: string): string {
  return new URL(path.replace(/\.ts$/, from.slice(-3)), from).href;
}

/** What lets a process of its own run such a module. */
export const loaderArguments: readonly string[] = import.meta.url.endsWith('.ts')
  ? ['--import', import.meta.resolve('tsx')]
  : [];
