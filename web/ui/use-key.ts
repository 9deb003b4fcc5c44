import { useEffect } from 'preact/hooks';

/** A key that does something from anywhere but a field. */
export function useKey(key: string, onPress: () => void): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isTyping =
        event.target instanceof Element && event.target.closest('input, select, textarea, dialog') !== null;
      if (event.key !== key || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
      event.preventDefault();
      onPress();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}
