import { batch, computed, signal } from '@preact/signals';
import { stored } from './browser.ts';
import type { TextKey } from './words.ts';

export type { TextKey };
type Language = 'en' | 'de';
type Texts = Readonly<Record<TextKey, string>>;

const texts = signal({} as Texts);

export function isTextKey(key: string): key is TextKey {
  return Object.hasOwn(texts.value, key);
}

const browserLanguage = navigator.language.toLowerCase().startsWith('de') ? 'de' : 'en';

export const language = stored('auditlog.language', browserLanguage === 'de' ? ['de', 'en'] : ['en', 'de']);

/** Times and numbers follow the browser's region if it has the chosen language. */
export const locale = computed(() =>
  navigator.language.split('-')[0]?.toLowerCase() === language.value ? navigator.language : language.value,
);

language.subscribe((value) => {
  document.documentElement.lang = value;
});

/** Changes the language once its texts are loaded; nothing can be drawn before the first ones. */
export async function changeLanguage(next: Language): Promise<void> {
  const { default: loaded } = await (next === 'de' ? import('./words.ts?de') : import('./words.ts?en'));
  batch(() => {
    texts.value = loaded;
    language.value = next;
  });
}

const numbers = computed(() => new Intl.NumberFormat(locale.value));
export const formatNumber = (value: number): string => numbers.value.format(value);

/** The text of a key; `{n:event:events}` is the first word if `n` is one, otherwise the second. */
export function t(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
  return texts.value[key].replaceAll(
    /\{(\w+)(?::([^:}]+):([^}]+))?\}/g,
    (_, name: string, one?: string, many?: string) => {
      const value = values[name] ?? '';
      const text = typeof value === 'number' ? formatNumber(value) : value;
      return (text === '1' ? one : many) ?? text;
    },
  );
}

/** The next polite announcement of a screen reader. */
export const announcement = signal('');
