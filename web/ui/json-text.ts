/** JSON handled as text: a JavaScript number would lose digits of large integers. */
const tokens = /"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[\],:]|[^\s{}[\],:"]+/g;

/** The text of each member of an object, or of each element of an array by its index. */
export function membersOf(text: string): Map<string, string> {
  const members = new Map<string, string>();
  let depth = 0;
  let key: string | undefined;
  let start = 0;
  let count = 0;
  const isArray = text.trimStart().startsWith('[');
  for (const { 0: token, index } of text.matchAll(tokens)) {
    const closes = token === '}' || token === ']';
    if ((token === ',' && depth === 1) || (closes && depth === 1)) {
      const value = text.slice(start, index).trim();
      if (value !== '') members.set(isArray ? String(count) : (key ?? ''), value);
      count += 1;
      key = undefined;
      start = index + 1;
    } else if (token === ':' && depth === 1 && key === undefined) {
      key = JSON.parse(text.slice(start, index)) as string;
      start = index + 1;
    }
    if (token === '{' || token === '[') depth += 1;
    if (depth === 1 && start === 0) start = index + 1;
    if (closes) depth -= 1;
  }
  return members;
}

/** Indents by two spaces a level and keeps all tokens. */
export function layOut(json: string): string {
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  const laidOut = Array.from(json.matchAll(tokens), ([token]) => {
    if (token === ':') return ': ';
    if (token === ',') return token + line();
    if (token === '{' || token === '[') {
      depth += 1;
      return token + line();
    }
    if (token === '}' || token === ']') {
      depth -= 1;
      return line() + token;
    }
    return token.startsWith('"') ? token : token.replaceAll(/\s/g, '');
  });
  return laidOut.join('');
}
