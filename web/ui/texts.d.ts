/** One language of words.ts (vite.config.ts). */
declare module '*?en' {
  const texts: Readonly<Record<import('./words.ts').TextKey, string>>;
  export default texts;
}

declare module '*?de' {
  const texts: Readonly<Record<import('./words.ts').TextKey, string>>;
  export default texts;
}
