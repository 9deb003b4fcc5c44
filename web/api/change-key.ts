let last: { readonly change: string; readonly key: string } | undefined;

/** The Idempotency-Key of a change: the same as before while the same change has no answer, so a retry is the same call. */
export function changeKey(change: string): string {
  if (last?.change !== change) last = { change, key: randomText() };
  return last.key;
}

/** The next change is another call: the last one was answered, or its form was closed. */
export function forgetChange(): void {
  last = undefined;
}

/** `randomUUID` exists only with HTTPS. */
function randomText(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
}
