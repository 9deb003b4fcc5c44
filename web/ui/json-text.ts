/**
 * JSON as text, since values would lose digits: producers may send integers that no JavaScript number holds.
 */
const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Texts of the members of an object, or of the elements of an array under their places. */
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

/** A piece of laid out JSON; `kind` is undefined for brackets, commas and blanks. */
interface Piece {
  readonly text: string;
  readonly kind?: 'key' | 'string' | 'number' | undefined;
}

/** The text laid out in lines of two blanks a level; its tokens stay as they are. */
export function layOut(json: string): Piece[] {
  const pieces: Piece[] = [];
  const all = Array.from(json.matchAll(tokens), ([token]) => token);
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  for (const [index, token] of all.entries()) {
    const next = all[index + 1];
    if (token === '{' || token === '[') {
      const isEmpty = next === '}' || next === ']';
      depth += isEmpty ? 0 : 1;
      pieces.push({ text: isEmpty ? token : token + line() });
    } else if (token === '}' || token === ']') {
      const isEmpty = all[index - 1] === '{' || all[index - 1] === '[';
      depth -= isEmpty ? 0 : 1;
      pieces.push({ text: isEmpty ? token : line() + token });
    } else if (token === ',') pieces.push({ text: `,${line()}` });
    else if (token === ':') pieces.push({ text: ': ' });
    else pieces.push({ text: token, kind: kindOf(token, next) });
  }
  return pieces;
}

function kindOf(token: string, next: string | undefined): Piece['kind'] {
  if (!token.startsWith('"')) return 'number';
  return next === ':' ? 'key' : 'string';
}
