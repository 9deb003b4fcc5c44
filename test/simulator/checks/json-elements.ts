/** The texts of the elements of a list of objects behind `mark`. */
export function elementsOf(text: string, mark: string): string[] {
  const at = text.indexOf(mark);
  if (at === -1) throw new Error(`no list in ${text.slice(0, 200)}`);
  const found: string[] = [];
  for (let next = at + mark.length; text[next] === '{' || text[next] === ',' || text[next] === '\n'; ) {
    if (text[next] !== '{') {
      next += 1;
      continue;
    }
    const end = endOfObject(text, next);
    found.push(text.slice(next, end));
    next = end;
  }
  return found;
}

const brackets = /["{}[\]]/g;
const quoted = /"(?:[^"\\]|\\.)*"/y;

function endOfObject(text: string, from: number): number {
  let depth = 0;
  brackets.lastIndex = from;
  for (let found = brackets.exec(text); found !== null; found = brackets.exec(text)) {
    const [mark] = found;
    if (mark === '"') {
      quoted.lastIndex = found.index;
      if (!quoted.test(text)) break;
      brackets.lastIndex = quoted.lastIndex;
    } else if (mark === '{' || mark === '[') depth += 1;
    else if (--depth === 0) return found.index + 1;
  }
  throw new Error('an object without its end');
}
