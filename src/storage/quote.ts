/** A SQL string literal. For text that cannot be bound as a parameter, such as a view's; values are always bound. */
export function quoteString(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "\\'")
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t')
    .replaceAll('\0', '\\x00');
  return `'${escaped}'`;
}

/** A SQL identifier, such as a database's name from configuration. */
export function quoteIdentifier(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}
