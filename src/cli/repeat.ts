function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

const isDropped = (word: string, before: string | undefined): boolean =>
  word === '--dry-run' || word === '--confirm' || word.startsWith('--confirm=') || before === '--confirm';

/** The command line with further words, ready to paste. */
export function commandWith(args: readonly string[], ...more: readonly string[]): string {
  const kept = args.filter((word, n) => !isDropped(word, args[n - 1]));
  return ['auditlog', ...kept, ...more].map(quoted).join(' ');
}
